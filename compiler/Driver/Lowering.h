// The phases between import and machine code: which passes run in each, and why they stand in that order.
#ifndef CLEAVE_COMPILER_DRIVER_LOWERING_H
#define CLEAVE_COMPILER_DRIVER_LOWERING_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

// What became of a lowering: it went as far as it can, or stopped where --stop-after said.
enum class Progress { Complete, Stopped };

// What is equal is computed once, what is not used goes away.
void addCleanUp(mlir::OpPassManager &manager);

// Model level to kernels form, which code generation compiles. Remarks of passes are notes in the log.
llvm::Expected<Progress> lowerToKernels(mlir::ModuleOp module, const CompileOptions &options, llvm::raw_ostream &log);
// Kernels form to plan form.
llvm::Expected<Progress> lowerToPlan(mlir::ModuleOp module, const CompileOptions &options,
                                     const plan::PlanningOptions &planning, llvm::raw_ostream &log);

} // namespace cleave

#endif
