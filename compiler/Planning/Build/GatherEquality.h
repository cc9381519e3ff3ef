// Finds all_gathers that bring the same bytes, although they are two ops. Their operands are the same, or are computed
// by equal ops from reads that see the same values.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_GATHEREQUALITY_H
#define CLEAVE_COMPILER_PLANNING_BUILD_GATHEREQUALITY_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cleave::plan {

// True if two reads see the same value. They may be in different functions.
using SameRead = llvm::function_ref<bool(ReadOp, ReadOp)>;

bool gathersSame(mlir::shard::AllGatherOp a, mlir::shard::AllGatherOp b, SameRead sameRead);

// Erases the gather, and the ops that made its part only for it.
void eraseWithMakers(mlir::Operation *gather);

} // namespace cleave::plan

#endif
