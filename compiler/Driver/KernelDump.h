// --dump DIR: each generated kernel in files of its own, for people and for the tools of processors and GPUs.
//
//   DIR/k0.mlir      what the kernel computes
//   DIR/k0.ptx       its code; for hosts k0.ll, the optimized LLVM IR
//   DIR/index.json   the kernels, their files, and what their code takes
#ifndef CLEAVE_COMPILER_DRIVER_KERNELDUMP_H
#define CLEAVE_COMPILER_DRIVER_KERNELDUMP_H

#include "compiler/Driver/InputGuard.h"
#include "compiler/Driver/Options.h"
#include "compiler/Target/Target.h"

namespace cleave {

// Asked before the work: whether kernels are compiled at all, and the directory, which is made, can be written to
// and is not `output`.
llvm::Error checkKernelDump(const CompileOptions &options, llvm::StringRef output);

// The index comes last: where it is, the files are whole. Files of other kernels, of an earlier compilation, stay. None
// of `read` is written over.
llvm::Error writeKernelDump(llvm::StringRef directory, mlir::ModuleOp kernels, const Target &target,
                            const KernelCode &code, llvm::ArrayRef<ReadFile> read);

} // namespace cleave

#endif
