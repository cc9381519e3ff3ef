// Divides a function into two halves. The ops that use a seed, directly or not, are the backward pass. The other ops
// are the forward pass. A seed is the gradient of the loss's sum (`cleave.seed`), or of a value that a later chunk uses
// (`cleave.cotangent`). A function without a seed has only a forward pass.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_JOINTFUNCTION_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_JOINTFUNCTION_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace cleave {

struct JointFunction {
  mutable mlir::func::FuncOp function; // a handle: MLIR has no const ops
  mlir::BlockArgument seed;            // of the loss; null in chunks without the loss
  llvm::DenseSet<mlir::Value> seeds;   // all seeds; if there are none, there is no backward pass
  llvm::DenseSet<mlir::Operation *> backward;
  llvm::StringSet<> writtenForward;

  JointFunction() = default;
  explicit JointFunction(mlir::func::FuncOp joint);

  bool isBackward(mlir::Value value) const {
    return seeds.contains(value) || (value.getDefiningOp() && backward.contains(value.getDefiningOp()));
  }

  // True if the backward pass has the value without keeping it: inputs, edges (a rank that has received a value has it
  // until its backward pass), constants, states that the forward pass does not write, and parts of these.
  bool isFree(mlir::Value value) const;
};

} // namespace cleave

#endif
