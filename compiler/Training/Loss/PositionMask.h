// Which positions a loss counts: the path from its sum down to the values of single positions, and what multiplies
// these by zero on the way.
//
//   loss = reduce_sum(mul(reshape(l), m)) / reduce_sum(m)        the path: reduce_sum, mul, reshape, l
//                                                                the mask: reshape(m != 0), as l is shaped
//
// On the path stand only ops that are linear in the next value (AlgebraOpInterface). A factor masks where it is zero,
// and so does a selection of zero. Three factors do not mask: constants, the weight of the label's class (a weight and
// not a choice), and what is computed with parameters (the factor of a focal loss is zero of a prediction that is
// right). A choice that parameters make (the largest losses, say) cannot be told here.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_POSITIONMASK_H
#define CLEAVE_COMPILER_TRAINING_LOSS_POSITIONMASK_H

#include "dialects/Cleave/IR/Algebra.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cleave {

// From the sum to the op `end`: each use is the operand of one op in which that op is linear, and the next op makes it.
struct LossPath {
  llvm::SmallVector<mlir::OpOperand *> uses;
  mlir::Operation *end = nullptr;
};

// The paths from `sum` to the ops that `isEnd` accepts, one for each end.
llvm::SmallVector<LossPath> findPaths(mlir::Value sum, llvm::function_ref<bool(mlir::Operation *)> isEnd);

// The operand whose elements the value has, each in its place, cast or negated; null where there is none.
mlir::Value getKeptInPlace(mlir::Value value);

struct PositionMask {
  bool isKnown = true;
  mlir::Value mask; // i1; null: all positions count
};

// The mask of the path's end, of the shape of its result without dimension `dim`. `isClassWeight` tells of a factor
// whether it is made of the labels' classes alone.
PositionMask buildPositionMask(mlir::OpBuilder &builder, const LossPath &path, int64_t dim,
                               llvm::function_ref<bool(mlir::Value)> isClassWeight);

} // namespace cleave

#endif
