// The phases between import and machine code: which passes run in each, and why they stand in that order.
#ifndef CLEAVE_COMPILER_DRIVER_LOWERING_H
#define CLEAVE_COMPILER_DRIVER_LOWERING_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"

#include "llvm/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// What became of a lowering: it went as far as it can, or stopped where --stop-after said.
enum class Progress { Complete, Stopped };

// Model level to kernels form, which code generation compiles.
llvm::Expected<Progress> lowerToKernels(mlir::ModuleOp module, const CompileOptions &options);
// Kernels form to plan form.
llvm::Expected<Progress> lowerToPlan(mlir::ModuleOp module, const CompileOptions &options,
                                     const plan::PlanningOptions &planning);

} // namespace cleave

#endif
