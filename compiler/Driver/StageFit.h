// Where a model is cut into stages under a memory limit.
//
// The cut knows estimates only: how much a plan needs depends on what is kept, on the schedule, on the optimizer, on what
// is split and offloaded. So cuts are planned, and the plan corrects the estimate:
//
//   1. The fastest cut. If each stage of its plan fits, it is taken.
//   2. Of each stage: planned states / estimated states, and the rest of the plan / estimated activations. Then the
//      fastest cut whose stages fit by the corrected estimates; and so on, a few times.
//
// So the least time is taken of all cuts that are expected to fit, and what is taken does fit. Where no cut does, the one
// whose largest stage needs least is taken, for the error to speak of (MemoryLimit.h).
// Rejected: to plan all cuts in the order of their times; there are too many.
#ifndef CLEAVE_COMPILER_DRIVER_STAGEFIT_H
#define CLEAVE_COMPILER_DRIVER_STAGEFIT_H

#include "compiler/Driver/Options.h"
#include "compiler/Driver/PipelineRequest.h"
#include "compiler/Planning/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// Whether the cut is looked for: not without a limit, and not where the user says where to cut.
bool searchesCut(const CompileOptions &options);

// Asked after lowerToKernels has read the options that it is made of.
using PlanningOf = llvm::function_ref<plan::PlanningOptions()>;

// Notes the cut on the imported module, for `cut-model`, if it is looked for.
llvm::Error fitStages(mlir::ModuleOp imported, const PipelineRequest &pipeline, const CompileOptions &options,
                      PlanningOf planningOf, llvm::raw_ostream &log);

} // namespace cleave

#endif
