// The program `snapshot` copies everything that a checkpoint holds into memory of its own, so that it can be written
// while training goes on. These bytes are planned like all others: `inspect` shows them, and --memory-limit counts
// them.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_SNAPSHOT_H
#define CLEAVE_COMPILER_PLANNING_BUILD_SNAPSHOT_H

#include "compiler/Planning/Build/ModulePlan.h"

namespace cleave::plan {

// True if checkpoints hold the state (runtime/plan/SavedState.h).
bool isSaved(StateOp state);

// Adds the program after the others. It has one copy for each saved state (runtime/plan/SavedState.h), as the rank
// stores it. A rank also copies the states that another rank writes, because programs do not depend on coordinates.
void emitSnapshot(mlir::OpBuilder &builder, mlir::ModuleOp module, ModulePlan &plan);

} // namespace cleave::plan

#endif
