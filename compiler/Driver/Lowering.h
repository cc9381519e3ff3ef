// Runs the phases between import and machine code: the passes of each phase, and the reasons for their order.
#ifndef CLEAVE_COMPILER_DRIVER_LOWERING_H
#define CLEAVE_COMPILER_DRIVER_LOWERING_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

// The result of a lowering: complete, or stopped at the phase of --stop-after.
enum class Progress { Complete, Stopped };

// Adds passes that compute equal values once, and remove unused ones.
void addCleanUp(mlir::OpPassManager &manager);

// Lowers from the model level to kernels form, which code generation compiles. Remarks of passes are notes in the log.
llvm::Expected<Progress> lowerToKernels(mlir::ModuleOp module, const CompileOptions &options, llvm::raw_ostream &log);
// Lowers from kernels form to plan form.
llvm::Expected<Progress> lowerToPlan(mlir::ModuleOp module, const CompileOptions &options,
                                     const plan::PlanningOptions &planning, llvm::raw_ostream &log);

} // namespace cleave

#endif
