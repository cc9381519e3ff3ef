// Emits a kernel as the code of one GPU thread, over plain memory:
//
//   func.func @softmax(%x: memref<8192x768xf32>, %y: memref<8192x768xf32>)
//
// with one argument for each buffer of the launch: inputs, then results (that of a tied result is not used). A thread
// finds its indices in NVVM's special registers; see ThreadForm.h for the work of each thread.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_THREADEMITTER_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_THREADEMITTER_H

#include "compiler/Codegen/CUDA/ThreadForm.h"

namespace cleave {

// Adds function `name` to `module`. Each buffer begins at a multiple of its number in `alignments`, in bytes. Buffers
// beyond the list begin at a multiple of an element's size.
mlir::LogicalResult emitThread(const KernelGraph &graph, const ThreadForm &form, llvm::StringRef name,
                               mlir::ModuleOp module, llvm::ArrayRef<uint32_t> alignments = {});

} // namespace cleave

#endif
