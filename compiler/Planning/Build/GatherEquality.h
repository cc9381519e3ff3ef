// When two all_gathers bring the same bytes, though they are two instances: the same operand, or the same ops of reads
// that see the same.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_GATHEREQUALITY_H
#define CLEAVE_COMPILER_PLANNING_BUILD_GATHEREQUALITY_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace cleave::plan {

// Whether two reads see the same value; the functions may be different ones.
using SameRead = llvm::function_ref<bool(ReadOp, ReadOp)>;

bool gathersSame(mlir::shard::AllGatherOp a, mlir::shard::AllGatherOp b, SameRead sameRead);

// Erases the gather, and the kernels that made its part for it alone.
void eraseWithMakers(mlir::Operation *gather);

} // namespace cleave::plan

#endif
