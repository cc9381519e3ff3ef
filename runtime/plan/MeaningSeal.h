// A hash over everything that a plan states about its own meaning. It binds the plan to the program that it came with.
//
// `cleave verify` compares what the instructions do with what the plan states: the expressions of the values that its
// programs leave (Program.meaning), and its declarations (Plan.declared). Both statements are in the plan itself.
// Somebody who changes instructions and statements together would have a plan that is proved, but computes something
// else. So code generation writes this hash next to the machine code, after the kernels' facts (KernelFacts.h). The
// runtime and `cleave verify` refuse a plan with another hash. A file that contains only a plan has nothing to be
// compared with.
#ifndef CLEAVE_RUNTIME_PLAN_MEANINGSEAL_H
#define CLEAVE_RUNTIME_PLAN_MEANINGSEAL_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

namespace cleave::rt {

// Over all kinds of ranks.
uint64_t meaningSeal(const fb::Plan &plan);
Status checkMeaningSeal(const fb::Plan &plan, uint64_t seal);

} // namespace cleave::rt

#endif
