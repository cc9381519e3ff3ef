#include "dialects/Cleave/IR/StopGradient.h"
#include "dialects/Cleave/IR/Elementwise.h"

using namespace cleave;
using mlir::Value;

llvm::SmallVector<mlir::utils::IteratorType> StopGradientOp::getLoopIteratorTypes() { return elementwiseLoops(*this); }
llvm::SmallVector<mlir::AffineMap> StopGradientOp::getIndexingMaps() { return elementwiseMaps(*this); }
llvm::SmallVector<mlir::shard::ReductionKind> StopGradientOp::getReductionLoopIteratorKinds() { return {}; }
ComputeKind StopGradientOp::getComputeKind() { return ComputeKind::Fusible; }

llvm::SmallVector<Value> StopGradientOp::buildLinalg(mlir::OpBuilder &builder, mlir::ValueRange operands) {
  auto same = [](mlir::OpBuilder &, mlir::Location, mlir::ValueRange elements) { return elements[0]; };
  return {elementwiseLinalg(*this, builder, operands, same)};
}

// Gives no gradient, because the operand has no part in it.
mlir::LogicalResult StopGradientOp::buildVJP(mlir::OpBuilder &, llvm::ArrayRef<Value>, llvm::SmallVectorImpl<Value> &) {
  return mlir::success();
}

void cleave::eraseStopGradients(mlir::func::FuncOp function) {
  function.walk([](StopGradientOp op) {
    op.replaceAllUsesWith(op.getOperand());
    op.erase();
  });
}
