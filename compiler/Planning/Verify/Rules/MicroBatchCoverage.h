// Part of verifyPlan(): checks that a program uses every micro-batch that the host feeds, and needs no others.
//
// A micro-batch that is fed and not used would be a part of each batch that is not trained on, or not evaluated. The
// numbers cover the list of calls, but two plans that leave out the same micro-batches state the same list. So rule
// "frame" says of each entry program, on each kind of ranks:
//
//   - if the calls of the kind follow micro-batches, some program runs for each one that is fed;
//   - an input of samples that is read in one of them is read in all of them.
//
//   fed 5:   call forward times 1     call forward times 2 from frame 3       leaves out 1 and 2
//
// Rule "port" says of `init` and `snapshot` that they have no inputs, because the host feeds nothing to them.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_RULES_MICROBATCHCOVERAGE_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_RULES_MICROBATCHCOVERAGE_H

#include "compiler/Planning/Verify/PlanVerifier.h"

namespace cleave::plan {

// Checks all entry programs of a plan with all its kinds.
void checkMicroBatchCoverage(const rt::fb::Plan &plan, std::vector<Finding> *findings);

} // namespace cleave::plan

#endif
