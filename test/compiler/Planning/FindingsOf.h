// What the verifier says about a plan that a test builds.
#ifndef CLEAVE_TEST_COMPILER_PLANNING_FINDINGSOF_H
#define CLEAVE_TEST_COMPILER_PLANNING_FINDINGSOF_H

#include "compiler/Planning/Verify/PlanVerifier.h"

#include "test/runtime/device/PlanBuilder.h"

#include <string>

namespace cleave::plan {

// One line for each finding: its rule, then its text. The numbers that the plan states are not checked. If the plan
// does not open, "refused: " and the reason.
inline std::string findingsOf(rt::test::PlanBuilder &builder) {
  const rt::fb::Plan *plan = nullptr;
  if (rt::Status status = builder.tryOpen(&plan); !status.isOk())
    return "refused: " + status.message();
  std::string text;
  for (const Finding &finding : verifyPlan(*plan, Check::ButStated))
    text += finding.rule + ": " + finding.text + "\n";
  return text;
}

} // namespace cleave::plan

#endif
