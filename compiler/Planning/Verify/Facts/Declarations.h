// Hashes what a plan declares and no instruction computes: its mesh, batch, options, states, ports, regions and groups.
//
// Nothing else in the plan could contradict a wrong declaration. With another learning-rate scale in a parameter group,
// or another name of a tensor, all instructions still make sense. So the compiler seals declarations by a hash
// (Plan.declared). Instructions are not sealed: it is proved that they do what the model means (PlanMeaning.h).
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_DECLARATIONS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_DECLARATIONS_H

#include "runtime/plan/Plan_generated.h"

namespace cleave::plan {

// Returns the hash of one kind's plan, without the plans of other kinds.
uint64_t declarationsHash(const rt::fb::Plan &plan);

} // namespace cleave::plan

#endif
