// Chooses where a model is cut into stages under a memory limit.
//
// The cut knows only estimates. The memory that a plan needs depends on residuals, the schedule, the optimizer, and the
// states that are split and offloaded. So cuts are planned, and the plan corrects the estimate:
//
//   1. The fastest cut is planned. If each stage of its plan fits, it is used.
//   2. Each stage gives two factors: planned states / estimated states, and the rest of the plan / estimated
//      activations. The fastest cut whose stages fit by the corrected estimates is planned next. This is repeated a
//      few times.
//
// So the result is the fastest of all cuts that are expected to fit, and its plan does fit. If no plan fits, the cut
// whose largest stage needs least is used, and the error describes it (MemoryLimit.h). Rejected: planning all cuts in
// the order of their times, because there are too many.
#ifndef CLEAVE_COMPILER_DRIVER_MEMORY_STAGEFIT_H
#define CLEAVE_COMPILER_DRIVER_MEMORY_STAGEFIT_H

#include "compiler/Driver/Options.h"
#include "compiler/Driver/PipelineRequest.h"
#include "compiler/Planning/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// True if the cut is searched: there is a limit, and the user does not say where to cut.
bool searchesCut(const CompileOptions &options);

// Must be called after lowerToKernels() has read the options from which it is made.
using PlanningOf = llvm::function_ref<plan::PlanningOptions()>;

// If the cut is searched, adds it to the imported module as an attribute, for `cut-model`.
llvm::Error fitStages(mlir::ModuleOp imported, const PipelineRequest &pipeline, const CompileOptions &options,
                      PlanningOf planningOf, llvm::raw_ostream &log);

} // namespace cleave

#endif
