// Planning to see what a choice costs: on a copy, and without a trace.
#ifndef CLEAVE_COMPILER_DRIVER_PLANTRIAL_H
#define CLEAVE_COMPILER_DRIVER_PLANTRIAL_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

// What the plan of a module in plan form needs.
llvm::Expected<rt::PlanSummary> summarizeModule(mlir::ModuleOp planned);

// Neither dumps nor constants among the weights, of whatever is done with these.
void leaveNoTrace(CompileOptions &options, plan::PlanningOptions &planning);

// What the plan of `kernels` (in kernels form, left as it is) needs with these options. Neither dumps nor constants
// among the weights are left of it.
llvm::Expected<rt::PlanSummary> tryPlan(mlir::ModuleOp kernels, CompileOptions options, plan::PlanningOptions planning);

// The same of an imported model.
llvm::Expected<rt::PlanSummary> tryCompile(mlir::ModuleOp imported, CompileOptions options,
                                           plan::PlanningOptions planning);

} // namespace cleave

#endif
