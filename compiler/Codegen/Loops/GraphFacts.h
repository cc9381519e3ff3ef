// The facts that a plan states about a kernel's code, derived from the same graph as the code (KernelFacts.h).
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_GRAPHFACTS_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_GRAPHFACTS_H

#include "compiler/Codegen/Loops/IsolatedKernels.h"
#include "compiler/Codegen/Loops/KernelGraph.h"
#include "runtime/plan/KernelFacts.h"

namespace cleave {

// Returns the facts of a kernel whose graph this is. `depends` has a mask for each result: bit i is input i. `extent` is
// that of the target's loops.
rt::KernelFacts factsOf(const KernelGraph &graph, const IsolatedKernel &kernel, int64_t extent);

// Returns why the plan's table may not state the facts `told` for code with the facts `code`; empty if it may.
// Everything must be equal, except that the table may state more dependences than the code has.
std::string disagreement(const rt::KernelFacts &code, const rt::KernelFacts &told);

} // namespace cleave

#endif
