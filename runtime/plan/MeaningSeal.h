// What binds a plan to the program that it came with: a hash over what the plan says that it means.
//
// The proof of a plan (`cleave verify`) compares what instructions do with what the plan states: the expressions of what
// its programs leave (Program.meaning), and what it declares (Plan.declared). Both stand in the plan itself, so that
// somebody who changes instructions and statements alike has a plan that proves another program. So code generation
// writes this hash beside the machine code, after the kernels' facts (KernelFacts.h), and the runtime and `cleave
// verify` refuse a plan that states something else. A file that is a plan alone has nothing to be compared with.
#ifndef CLEAVE_RUNTIME_PLAN_MEANINGSEAL_H
#define CLEAVE_RUNTIME_PLAN_MEANINGSEAL_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

namespace cleave::rt {

// Of all kinds of ranks.
uint64_t meaningSeal(const fb::Plan &plan);
Status checkMeaningSeal(const fb::Plan &plan, uint64_t seal);

} // namespace cleave::rt

#endif
