// The units of a plan: the parameters that are stored split and gathered together.
//
// What is gathered of a unit can be narrower than what is stored: a frozen one keeps the model's type and is rounded
// before it is gathered. The plan says so by its instructions alone, so they are followed from the stored bytes,
// through copies and kernels, to the all-gather.
#ifndef CLEAVE_RUNTIME_PLAN_UNITS_H
#define CLEAVE_RUNTIME_PLAN_UNITS_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <vector>

namespace cleave::rt {

struct Unit {
  const fb::State *state = nullptr;
  uint64_t bytes = 0; // of the whole unit as it is gathered
};

// In the order of the states. The plan must have passed openPlan().
std::vector<Unit> unitsOf(const fb::Plan &plan);

} // namespace cleave::rt

#endif
