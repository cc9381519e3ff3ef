// Tells which positions a loss counts. It follows the path from the loss's sum down to the values of single positions,
// and looks for the factors that are zero on the way.
//
//   loss = reduce_sum(mul(reshape(l), m)) / reduce_sum(m)        the path: reduce_sum, mul, reshape, l
//                                                                the mask: reshape(m != 0), as l is shaped
//
// Each op on the path is linear in the next value (AlgebraOpInterface). A factor masks the positions where it is zero,
// and so does a select that gives zero. Three kinds of factors do not mask: constants, the weight of the label's class
// (it weighs, but does not choose), and factors that are computed from parameters (the factor of a focal loss is zero
// for a prediction that is right). If parameters choose the positions (for example, those with the largest losses), the
// mask is not known.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_POSITIONMASK_H
#define CLEAVE_COMPILER_TRAINING_LOSS_POSITIONMASK_H

#include "dialects/Cleave/IR/Algebra.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cleave {

// The path from the sum to the op `end`. Each use is an operand in which its op is linear. The next op on the path
// makes that operand.
struct LossPath {
  llvm::SmallVector<mlir::OpOperand *> uses;
  mlir::Operation *end = nullptr;
};

// Returns the paths from `sum` to the ops that `isEnd` accepts, one for each end.
llvm::SmallVector<LossPath> findPaths(mlir::Value sum, llvm::function_ref<bool(mlir::Operation *)> isEnd);

// Returns the operand whose elements the value has in the same places, perhaps cast or negated, or null.
mlir::Value getKeptInPlace(mlir::Value value);

struct PositionMask {
  bool isKnown = true;
  mlir::Value mask; // i1; null: all positions count
};

// Builds the mask of the path's end. It has the shape of the end's result without dimension `dim`. `isClassWeight` is
// true for a factor that is made of the labels' classes alone.
PositionMask buildPositionMask(mlir::OpBuilder &builder, const LossPath &path, int64_t dim,
                               llvm::function_ref<bool(mlir::Value)> isClassWeight);

} // namespace cleave

#endif
