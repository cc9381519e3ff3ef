// Plans a copy of a module to find out what a choice costs, without a trace.
#ifndef CLEAVE_COMPILER_DRIVER_MEMORY_PLANTRIAL_H
#define CLEAVE_COMPILER_DRIVER_MEMORY_PLANTRIAL_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Returns the needs of the plan of a module in plan form.
llvm::Expected<rt::PlanSummary> summarizeModule(mlir::ModuleOp planned);

// Changes the options so that planning writes no dumps, and adds no constants to the weights.
void leaveNoTrace(CompileOptions &options, plan::PlanningOptions &planning);

// Returns the needs of the plan of `kernels` (in kernels form, not changed) with these options. No dumps are written,
// and no constants are added to the weights.
llvm::Expected<rt::PlanSummary> tryPlan(mlir::ModuleOp kernels, CompileOptions options, plan::PlanningOptions planning);

// As tryPlan(), for an imported model.
llvm::Expected<rt::PlanSummary> tryCompile(mlir::ModuleOp imported, CompileOptions options,
                                           plan::PlanningOptions planning);

} // namespace cleave

#endif
