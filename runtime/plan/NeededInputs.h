// The property `needs.OUTPUT`: the inputs on which an output of inference depends. Sessions ask for no others, and
// `cleave verify` checks that the output depends on no others.
#ifndef CLEAVE_RUNTIME_PLAN_NEEDEDINPUTS_H
#define CLEAVE_RUNTIME_PLAN_NEEDEDINPUTS_H

#include "runtime/plan/Properties.h"

namespace cleave::rt {

// True if the plan says that the output may change with the values of the input.
inline bool isNeeded(const fb::Plan &plan, std::string_view output, std::string_view input) {
  const flatbuffers::String *needs = findProperty(plan, kNeedsProperties.of(output));
  return !needs || // without the property it depends on all inputs
         ("," + needs->str() + ",").find("," + std::string(input) + ",") != std::string::npos;
}

} // namespace cleave::rt

#endif
