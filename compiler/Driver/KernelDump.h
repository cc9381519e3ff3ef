// --dump DIR writes each generated kernel to files of its own, for people and for the tools of processors and GPUs.
//
//   DIR/k0.mlir      what the kernel computes
//   DIR/k0.ptx       its code; for hosts k0.ll, the optimized LLVM IR
//   DIR/index.json   the kernels, their files, and the resources that their code needs
#ifndef CLEAVE_COMPILER_DRIVER_KERNELDUMP_H
#define CLEAVE_COMPILER_DRIVER_KERNELDUMP_H

#include "compiler/Driver/Files/InputGuard.h"
#include "compiler/Driver/Options.h"
#include "compiler/Target/Target.h"

namespace cleave {

// Checks --dump before the work: kernels must be compiled, and the directory, which is created, must be writable and
// different from `output`.
llvm::Error checkKernelDump(const CompileOptions &options, llvm::StringRef output);

// Writes the files. The index is written last, so if it exists, the other files are complete. Files of other kernels
// from an earlier compilation are kept. No file of `read` is overwritten.
llvm::Error writeKernelDump(llvm::StringRef directory, mlir::ModuleOp kernels, const Target &target,
                            const KernelCode &code, llvm::ArrayRef<ReadFile> read);

} // namespace cleave

#endif
