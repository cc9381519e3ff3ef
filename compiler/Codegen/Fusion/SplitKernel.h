// Makes one kernel for each op of a kernel that cannot be compiled as a whole.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_SPLITKERNEL_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_SPLITKERNEL_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// Puts kernels of one op each at the place of `kernel`, and erases it. Each kernel gets its own copy of the constants
// that it reads. All results of an op are results of its kernel, even if nothing reads them. Returns the new kernels.
llvm::SmallVector<KernelOp> splitKernel(KernelOp kernel);

} // namespace cleave

#endif
