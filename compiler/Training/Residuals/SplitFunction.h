// Splits one function into two, which run one after the other. A chunk's joint function becomes the forward and the
// backward pass. A backward pass becomes two halves: the gradients of the inputs and those of the weights.
//
// A JointFunction says which ops belong to the second half (its `backward`). Values that the first half computes and
// the second half needs are kept, unless it is cheaper to compute them again (ResidualChoice.h). The first half returns
// the kept values after its own results. It has all arguments of the whole
// function except seeds, and the second half has those that it needs.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_SPLITFUNCTION_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_SPLITFUNCTION_H

#include "compiler/Training/Residuals/JointFunction.h"

#include <string>

namespace cleave {

struct SplitNames {
  std::string first, second; // of the functions
  std::string keptEdge;      // the kept values are edges with this name and a number; empty: they are residuals
};

// Returns the values to keep. With `keepAll` they are all values that the second half reads, otherwise those with the
// fewest bytes.
llvm::SmallVector<mlir::Value> chooseKept(const JointFunction &joint, bool keepAll);

mlir::func::FuncOp buildFirstHalf(const JointFunction &joint, const SplitNames &names,
                                  llvm::ArrayRef<mlir::Value> kept);
mlir::func::FuncOp buildSecondHalf(const JointFunction &joint, const SplitNames &names,
                                   llvm::ArrayRef<mlir::Value> kept, mlir::func::FuncOp first);

// Erases ops without effects whose results are not used, and the ops that were only needed for them.
void eraseDeadOps(mlir::Block &block);

// Marks the residuals of `first` that `second` also reads, later. `first` must not overwrite them.
void markSharedResiduals(mlir::func::FuncOp first, mlir::func::FuncOp second);

} // namespace cleave

#endif
