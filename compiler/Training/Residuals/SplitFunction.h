// One function becomes two, which run one after the other: a chunk's joint function its forward and backward pass, and
// a backward pass the gradients of the inputs and those of the weights.
//
// A JointFunction says which ops are the second half's (its `backward`). What the first half computes and the second
// needs is kept, as far as it is not cheaper to compute it again (ResidualChoice.h): the first half returns it after
// its own results. Arguments of the whole are arguments of each half that needs them.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_SPLITFUNCTION_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_SPLITFUNCTION_H

#include "compiler/Training/Residuals/JointFunction.h"

#include <string>

namespace cleave {

struct SplitNames {
  std::string first, second; // of the functions
  std::string keptEdge;      // kept values are the edges of this name with a number; empty: they are residuals
};

// The values to keep; all that the second half reads, or the least bytes.
llvm::SmallVector<mlir::Value> chooseKept(const JointFunction &joint, bool keepAll);

mlir::func::FuncOp buildFirstHalf(const JointFunction &joint, const SplitNames &names,
                                  llvm::ArrayRef<mlir::Value> kept);
mlir::func::FuncOp buildSecondHalf(const JointFunction &joint, const SplitNames &names,
                                   llvm::ArrayRef<mlir::Value> kept, mlir::func::FuncOp first);

// Ops without effects of which nothing is used, and what was made for them alone.
void eraseDeadOps(mlir::Block &block);

// Marks the residuals of `first` that `second` reads too, later: `first` must not overwrite them.
void markSharedResiduals(mlir::func::FuncOp first, mlir::func::FuncOp second);

} // namespace cleave

#endif
