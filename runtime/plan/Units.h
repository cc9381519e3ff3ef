// The units of a plan: the parameters that are stored split and gathered together.
//
// A unit can be gathered in a narrower type than it is stored in. For example, a frozen parameter is stored in the
// model's type, and rounded before it is gathered. Only the plan's instructions say so. They are followed from the
// stored bytes, through copies and kernels, to the all-gather.
#ifndef CLEAVE_RUNTIME_PLAN_UNITS_H
#define CLEAVE_RUNTIME_PLAN_UNITS_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <vector>

namespace cleave::rt {

struct Unit {
  const fb::State *state = nullptr;
  uint64_t bytes = 0; // of the whole unit, in the type in which it is gathered
};

// Returns the units in the order of the states. The plan must have passed openPlan().
std::vector<Unit> unitsOf(const fb::Plan &plan);

} // namespace cleave::rt

#endif
