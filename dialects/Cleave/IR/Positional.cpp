#include "dialects/Cleave/IR/Positional.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace cleave;

mlir::LogicalResult cleave::verifyOrigin(mlir::Operation *op, mlir::Value origin, mlir::RankedTensorType result) {
  if (!origin)
    return mlir::success();
  auto expected = mlir::RankedTensorType::get({result.getRank()}, mlir::IntegerType::get(op->getContext(), 64));
  if (origin.getType() == expected)
    return mlir::success();
  return op->emitOpError("the origin has one i64 for every result dimension; got: ") << origin.getType();
}

llvm::SmallVector<mlir::Value> cleave::originScalars(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value origin) {
  auto type = llvm::cast<mlir::RankedTensorType>(origin.getType());
  auto scalar = mlir::RankedTensorType::get({}, type.getElementType());
  llvm::SmallVector<mlir::Value> scalars;
  for (int64_t dim = 0; dim < type.getDimSize(0); ++dim) {
    llvm::SmallVector<mlir::OpFoldResult> offset = {builder.getIndexAttr(dim)}, one = {builder.getIndexAttr(1)};
    scalars.push_back(mlir::tensor::ExtractSliceOp::create(builder, loc, scalar, origin, offset, one, one));
  }
  return scalars;
}
