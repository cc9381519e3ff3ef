// Checks the names of states by which checkpoints and the host find them, of a plan that a user gives to `cleave
// verify`.
//
// verifyPlan() does not check them, because plans that tests write by hand train without a loss.
//
//   - Optimizer state has the name of a parameter. If it has as many elements as the parameter's state, it also has the
//     parameter's place there, because the update uses equal places of the two.
//   - A plan with a training step has scalar.loss, on some kind of ranks.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_RULES_TRAININGNAMES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_RULES_TRAININGNAMES_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Adds findings of rule "state" about a plan with all its kinds.
void checkTrainingNames(const rt::fb::Plan &plan, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif
