// A kernel that cannot be compiled as a whole becomes one kernel for each of its ops.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_SPLITKERNEL_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_SPLITKERNEL_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// Puts kernels of one op each where `kernel` stands, and erases it. Constants go into every kernel that reads them. An
// op's results that nothing reads are results of its kernel all the same.
llvm::SmallVector<KernelOp> splitKernel(KernelOp kernel);

} // namespace cleave

#endif
