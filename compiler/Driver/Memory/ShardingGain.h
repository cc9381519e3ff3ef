// Finds out whether splitting states over the axis fsdp needs less memory than storing them whole.
//
// States that are split must be gathered and reduced, so a model with one large layer, or a very small model, may need
// more memory. The purpose of the option is to save memory, so the user must know. If the plan leaves a doubt, the
// model is also planned with whole states. If these need less, gathers are no longer issued ahead (unless
// --gathers-in-flight is given). If that does not help either, a note gives both figures.
#ifndef CLEAVE_COMPILER_DRIVER_MEMORY_SHARDINGGAIN_H
#define CLEAVE_COMPILER_DRIVER_MEMORY_SHARDINGGAIN_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// True if states are split.
bool splitsStates(const CompileOptions &options);

// Returns the number of gathers in flight to plan with. `summary` must be that of the plan with `options` and
// `planning`, `imported` the model, and `kernels` its form before planning. Neither is changed.
llvm::Expected<unsigned> chooseGathersInFlight(const rt::PlanSummary &summary, mlir::ModuleOp imported,
                                               mlir::ModuleOp kernels, const CompileOptions &options,
                                               const plan::PlanningOptions &planning, llvm::raw_ostream &log);

} // namespace cleave

#endif
