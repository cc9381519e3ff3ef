// What a plan declares and no instruction computes: its mesh, batch, options, states, ports, regions and groups.
//
// Nothing else in the plan could contradict a wrong one: with another learning-rate scale in a parameter group, or with
// another name of a tensor, all instructions still make sense. So the compiler seals them by a hash (Plan.declared).
// What instructions do is not sealed: that they do what the model means is proved (PlanMeaning.h).
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_DECLARATIONS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_DECLARATIONS_H

#include "runtime/plan/Plan_generated.h"

namespace cleave::plan {

// Of one kind's plan, without those of other kinds.
uint64_t declarationsHash(const rt::fb::Plan &plan);

} // namespace cleave::plan

#endif
