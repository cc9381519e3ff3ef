#include "runtime/session/OutputNeeds.h"

#include "runtime/plan/Properties.h"

namespace cleave::rt {

bool dependsOn(const fb::Plan &plan, const fb::Port &output, const fb::Port &input) {
  const flatbuffers::String *needs = findProperty(plan, kNeedsProperties.of(textOf(output.name())));
  return !needs || // without the property it depends on all inputs
         ("," + needs->str() + ",").find("," + input.name()->str() + ",") != std::string::npos;
}

const char *wholeBatchReason(const fb::Plan &plan, const fb::Port &output) {
  const flatbuffers::String *mixes = findProperty(plan, kMixesProperties.of(textOf(output.name())));
  std::string what = mixes ? mixes->str() : ""; // without the property, samples may be mixed in any way
  if (what == "nothing")
    return nullptr;
  return what == "size" ? "may depend on how many samples a batch has"
                        : "may be made of all samples of a batch together";
}

} // namespace cleave::rt
