// What a plan may say of a kernel's code, read off the very graph that the code is emitted from (KernelFacts.h).
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_GRAPHFACTS_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_GRAPHFACTS_H

#include "compiler/Codegen/Loops/KernelGraph.h"
#include "runtime/plan/KernelFacts.h"

namespace cleave {

// `depends` has a mask for each result: bit i is input i. `extent` is that of the target's loops.
rt::KernelFacts factsOf(const KernelGraph &graph, llvm::StringRef label, int64_t extent);

// Why the plan's table may not say `told` of code with these facts; empty where it may. Everything must be equal, but a
// table may tell of more dependences than the code has.
std::string disagreement(const rt::KernelFacts &code, const rt::KernelFacts &told);

} // namespace cleave

#endif
