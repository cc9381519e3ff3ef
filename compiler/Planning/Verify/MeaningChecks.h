// Part of verifyPlan(): what programs leave is what the plan states that the model computes.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MEANINGCHECKS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MEANINGCHECKS_H

#include "compiler/Planning/Verify/PlanText.h"
#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

struct MeaningResult {
  std::vector<std::map<uint32_t, Received>> received; // by kind, by entry program
  std::string stuck;                                  // an entry program whose kinds do not meet in issue order
  std::string tooLong;                                // one that runs more than is looked at: nothing else is known
};

// Findings of the rules "part", "replica", "snapshot" and, where `check` says so, "declared" and "meaning".
MeaningResult checkMeaning(const std::vector<const rt::fb::Plan *> &kinds, Check check, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif
