#include "dialects/Cleave/IR/Elementwise.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace cleave;
using mlir::RankedTensorType;
using mlir::Value;

static RankedTensorType resultType(mlir::Operation *op) {
  return llvm::cast<RankedTensorType>(op->getResult(0).getType());
}

llvm::SmallVector<mlir::utils::IteratorType> cleave::elementwiseLoops(mlir::Operation *op) {
  return llvm::SmallVector<mlir::utils::IteratorType>(resultType(op).getRank(), mlir::utils::IteratorType::parallel);
}

llvm::SmallVector<mlir::AffineMap> cleave::elementwiseMaps(mlir::Operation *op) {
  mlir::AffineMap identity = mlir::AffineMap::getMultiDimIdentityMap(resultType(op).getRank(), op->getContext());
  return llvm::SmallVector<mlir::AffineMap>(op->getNumOperands() + 1, identity);
}

RankedTensorType cleave::signlessType(RankedTensorType type) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type.getElementType());
  if (!integer || integer.isSignless())
    return type;
  return type.clone(mlir::IntegerType::get(type.getContext(), integer.getWidth()));
}

Value cleave::toSignless(mlir::OpBuilder &builder, mlir::Location loc, Value tensor) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  RankedTensorType signless = signlessType(type);
  return signless == type ? tensor : mlir::tensor::BitcastOp::create(builder, loc, signless, tensor).getResult();
}

Value cleave::fromSignless(mlir::OpBuilder &builder, mlir::Location loc, Value tensor, mlir::Type type) {
  return tensor.getType() == type ? tensor : mlir::tensor::BitcastOp::create(builder, loc, type, tensor).getResult();
}

Value cleave::elementwiseLinalg(mlir::Operation *op, mlir::OpBuilder &builder, mlir::ValueRange operands,
                                ScalarBuilder scalar) {
  mlir::Location loc = op->getLoc();
  RankedTensorType type = signlessType(resultType(op));
  llvm::SmallVector<Value> inputs;
  for (Value operand : operands)
    inputs.push_back(toSignless(builder, loc, operand));
  Value init = mlir::tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto generic = mlir::linalg::GenericOp::create(
      builder, loc, type, inputs, init, elementwiseMaps(op), elementwiseLoops(op),
      [&](mlir::OpBuilder &b, mlir::Location bodyLoc, mlir::ValueRange args) {
        mlir::linalg::YieldOp::create(b, bodyLoc, scalar(b, bodyLoc, args.take_front(inputs.size())));
      });
  return fromSignless(builder, loc, generic.getResult(0), resultType(op));
}
