// The entry program `init` changes states once, after they are loaded. At present it only packs states
// (PackedStates.h).
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_INITPROGRAM_H
#define CLEAVE_COMPILER_PLANNING_BUILD_INITPROGRAM_H

#include "compiler/Planning/Build/ModulePlan.h"
#include "compiler/Planning/Build/ProgramDraft.h"

namespace cleave::plan {

mlir::FailureOr<ProgramDraft> draftInit(ModulePlan &plan, mlir::Location loc);

} // namespace cleave::plan

#endif
