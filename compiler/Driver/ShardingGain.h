// Whether splitting states over the axis fsdp needs less memory than leaving them whole.
//
// What is split is gathered and reduced again, and a model with one large layer, or of a few bytes, can lose by it. A
// strategy whose point is memory must not do so in silence. So where the plan leaves a doubt, the model is planned with
// whole states, too. If these need less, gathers are no longer issued ahead (unless --gathers-in-flight asks for it);
// if that does not help either, a note gives both figures.
#ifndef CLEAVE_COMPILER_DRIVER_SHARDINGGAIN_H
#define CLEAVE_COMPILER_DRIVER_SHARDINGGAIN_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// True if states are split, so that there is a gain to ask about.
bool splitsStates(const CompileOptions &options);

// The gathers in flight to plan with. `summary` is that of the plan with `options` and `planning`, `imported` the model
// and `kernels` its form before planning; both are left as they are.
llvm::Expected<unsigned> chooseGathersInFlight(const rt::PlanSummary &summary, mlir::ModuleOp imported,
                                               mlir::ModuleOp kernels, const CompileOptions &options,
                                               const plan::PlanningOptions &planning, llvm::raw_ostream &log);

} // namespace cleave

#endif
