// Which positions a loss counts: the way from its sum down to the values of single positions, and what multiplies these
// by zero on the way.
//
//   loss = reduce_sum(mul(reshape(l), m)) / reduce_sum(m)        the way: reduce_sum, mul, reshape, l
//                                                                the mask: reshape(m != 0), as l is shaped
//
// On the way stand only ops that are linear in the next value. A factor masks where it is zero, and so does a selection
// of zero. Three factors do not mask: constants, the weight of the label's class (a weight and not a choice), and
// what is computed with parameters (the factor of a focal loss is zero of a prediction that is right). A choice that
// parameters make (the largest losses, say) cannot be told here.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_POSITIONMASK_H
#define CLEAVE_COMPILER_TRAINING_LOSS_POSITIONMASK_H

#include "dialects/Cleave/IR/Cleave.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace cleave {

// An op on the way, and the operand that is the next value.
using LossStep = std::pair<mlir::Operation *, unsigned>;
using LossWay = llvm::SmallVector<LossStep>;

// The ways from `sum` to the ops that `isEnd` accepts, one an end.
llvm::SmallVector<LossWay> findWays(mlir::Value sum, llvm::function_ref<bool(mlir::Operation *)> isEnd);

struct PositionMask {
  bool isKnown = true;
  mlir::Value mask; // i1; null: all positions count
};

// The mask of the way's end, of the shape of its result without dimension `dim`. `isClassWeight` tells of a factor
// whether it is made of the labels' classes alone.
PositionMask buildPositionMask(mlir::OpBuilder &builder, const LossWay &way, mlir::Operation *end, int64_t dim,
                               llvm::function_ref<bool(mlir::Value)> isClassWeight);

} // namespace cleave

#endif
