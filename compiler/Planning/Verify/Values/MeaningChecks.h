// Part of verifyPlan(): checks that programs leave what the plan states as the model's result.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_MEANINGCHECKS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_MEANINGCHECKS_H

#include "compiler/Planning/Verify/PlanText.h"
#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

struct MeaningResult {
  std::vector<std::map<uint32_t, Received>> received; // by kind, by entry program
  std::string stuck;                                  // an entry program whose kinds do not meet in issue order
  std::string tooLong; // an entry program that runs more than is examined: nothing else is known
};

// Adds findings of the rules "part", "replica", "snapshot" and, depending on `check`, "declared" and "meaning".
MeaningResult checkMeaning(const std::vector<const rt::fb::Plan *> &kinds, Check check, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif
