// Vector-Jacobian products of the shape ops. Each is the transpose of a 0/1 matrix, and so again a shape op (or a sum).
#include "dialects/Cleave/IR/Cleave.h"

using namespace cleave;
using mlir::LogicalResult;
using mlir::OpBuilder;
using mlir::success;
using mlir::Value;
using Grads = llvm::SmallVectorImpl<Value>;

LogicalResult ReshapeOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (resultGrads[0])
    operandGrads[0] = ReshapeOp::create(builder, getLoc(), getOperand().getType(), resultGrads[0]);
  return success();
}

LogicalResult TransposeOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (!resultGrads[0])
    return success();
  llvm::SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  operandGrads[0] = TransposeOp::create(builder, getLoc(), resultGrads[0], inverse);
  return success();
}

LogicalResult BroadcastOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (!resultGrads[0])
    return success();
  llvm::SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < getResult().getType().getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      repeated.push_back(dim);
  operandGrads[0] = repeated.empty() ? resultGrads[0]
                                     : ReduceOp::create(builder, getLoc(), getOperand().getType(), ReduceKind::Sum,
                                                        resultGrads[0], repeated)
                                           .getResult();
  return success();
}

LogicalResult SliceOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (!resultGrads[0])
    return success();
  llvm::SmallVector<int64_t> high, interior;
  for (auto [whole, start, size, step] :
       llvm::zip_equal(getOperand().getType().getShape(), getStarts(), getSizes(), getSteps())) {
    interior.push_back(step - 1);
    high.push_back(whole - start - (size > 0 ? (size - 1) * step + 1 : 0));
  }
  operandGrads[0] = PadOp::create(builder, getLoc(), getOperand().getType(), resultGrads[0], getStarts(), high,
                                  interior, llvm::APFloat(0.0));
  return success();
}

LogicalResult ConcatOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (!resultGrads[0])
    return success();
  llvm::SmallVector<int64_t> starts(getResult().getType().getRank(), 0), steps(starts.size(), 1);
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
    operandGrads[i] = SliceOp::create(builder, getLoc(), type, resultGrads[0], starts, type.getShape(), steps);
    starts[getDim()] += type.getDimSize(getDim());
  }
  return success();
}

LogicalResult PadOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (!resultGrads[0])
    return success();
  llvm::SmallVector<int64_t> steps;
  for (int64_t interior : getInterior())
    steps.push_back(interior + 1);
  auto type = getOperand().getType();
  operandGrads[0] = SliceOp::create(builder, getLoc(), type, resultGrads[0], getLow(), type.getShape(), steps);
  return success();
}
