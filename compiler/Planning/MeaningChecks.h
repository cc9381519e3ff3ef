// Part of verifyPlan(): what programs leave is what the plan states that the model computes.
#ifndef CLEAVE_COMPILER_PLANNING_MEANINGCHECKS_H
#define CLEAVE_COMPILER_PLANNING_MEANINGCHECKS_H

#include "compiler/Planning/PlanVerifier.h"

namespace cleave::plan {

// Findings of the rules "part", "replica", "snapshot" and, where `check` says so, "declared" and "meaning".
void checkMeaning(const std::vector<const rt::fb::Plan *> &kinds, Check check, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif
