// The program `snapshot`: a copy of all that a checkpoint holds, into memory of its own, so that it can be written
// while training goes on. Its bytes are planned like all others: `inspect` shows them, --memory-limit counts them.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_SNAPSHOT_H
#define CLEAVE_COMPILER_PLANNING_BUILD_SNAPSHOT_H

#include "compiler/Planning/Build/ModulePlan.h"

namespace cleave::plan {

// Adds the program after the others: one copy for each saved state (runtime/plan/SavedState.h), as the rank stores it.
// Every rank copies what it stores, also where another one writes it: programs do not depend on coordinates.
void emitSnapshot(mlir::OpBuilder &builder, mlir::ModuleOp module, ModulePlan &plan);

} // namespace cleave::plan

#endif
