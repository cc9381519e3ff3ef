// Decides where the states of @infer lie if its ops run in stages, one after the other.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_INFERENCESTAGES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_INFERENCESTAGES_H

#include "compiler/Planning/Build/StageSplit.h"

namespace cleave::plan {

// Cuts the function's ops, in their order, into parts of about equal cost. A state lies on the stages of the ops that
// use it. Ops then follow their states (StageSplit.h).
StateStages locateByCost(mlir::func::FuncOp function, StageAxis axis);

// Fails if a stage has no state: it would compute nothing, because ops follow states. The error says how many stages
// have something to do. Succeeds if the function has no states at all.
mlir::LogicalResult checkNoneIdle(mlir::func::FuncOp function, StageAxis axis, const StateStages &states);

} // namespace cleave::plan

#endif
