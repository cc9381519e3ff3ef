// Where the states of @infer lie when its ops run in stages one after the other.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_INFERENCESTAGES_H
#define CLEAVE_COMPILER_PLANNING_BUILD_INFERENCESTAGES_H

#include "compiler/Planning/Build/StageSplit.h"

namespace cleave::plan {

// The function's ops in their order are cut into parts of about equal cost; a state is on the stages of those that use
// it. Ops then follow their states (StageSplit.h).
StateStages locateByCost(mlir::func::FuncOp function, StageAxis axis);

// A stage without a state would compute nothing, since ops follow states: the error says how many stages have something
// to do. None where the function has no states at all.
mlir::LogicalResult checkNoneIdle(mlir::func::FuncOp function, StageAxis axis, const StateStages &states);

} // namespace cleave::plan

#endif
