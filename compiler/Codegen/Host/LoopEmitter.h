// Emits a kernel's loops over plain memory:
//
//   func.func private @softmax(%x: memref<8192x768xf32>, %y: memref<8192x768xf32>, %begin: index, %end: index)
//
// with iterations [begin, end) of the flat outermost loop. LoopForm.h, StagePlan.h and KeptValues.h say what is inside.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_LOOPEMITTER_H
#define CLEAVE_COMPILER_CODEGEN_HOST_LOOPEMITTER_H

#include "compiler/Codegen/Host/KeptValues.h"

namespace cleave {

// Adds function `name` to `module`. A tied result has no argument of its own. `buffers` receives, for each argument
// that is a buffer, its position among the kernel's inputs and results.
mlir::LogicalResult emitLoops(const KernelGraph &graph, llvm::StringRef name, mlir::ModuleOp module,
                              llvm::SmallVectorImpl<unsigned> &buffers);

} // namespace cleave

#endif
