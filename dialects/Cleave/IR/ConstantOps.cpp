// cleave.constant.
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace cleave;

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

mlir::LogicalResult ConstantOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                                 mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                 mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                 llvm::SmallVectorImpl<mlir::Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return mlir::emitOptionalError(location,
                                   "'cleave.constant' op holds a ranked tensor; got: ", adaptor.getValue().getType());
  results.push_back(type);
  return mlir::success();
}

llvm::SmallVector<mlir::utils::IteratorType> ConstantOp::getLoopIteratorTypes() {
  return elementwiseLoops(getOperation());
}
llvm::SmallVector<mlir::AffineMap> ConstantOp::getIndexingMaps() { return elementwiseMaps(getOperation()); }
ComputeKind ConstantOp::getComputeKind() { return ComputeKind::Fusible; }

llvm::SmallVector<mlir::Value> ConstantOp::buildLinalg(mlir::OpBuilder &builder, mlir::ValueRange) {
  auto type = getResult().getType();
  mlir::RankedTensorType signless = signlessType(type);
  mlir::TypedAttr value = getValueAttr();
  if (auto dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(getValue()); dense && signless != type)
    value = dense.bitcast(signless.getElementType());
  mlir::Value constant = mlir::arith::ConstantOp::create(builder, getLoc(), value);
  return {fromSignless(builder, getLoc(), constant, type)};
}
