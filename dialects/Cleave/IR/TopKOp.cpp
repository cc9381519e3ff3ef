// cleave.top_k.
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Scatter.h"

using namespace cleave;
using mlir::utils::IteratorType;

llvm::LogicalResult TopKOp::inferReturnTypes(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                                             mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                             mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                             llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = tensorTypeOf(op.getOperand());
  int64_t count = op.getCount();
  if (type.getRank() == 0 || count < 1 || count > type.getShape().back())
    return mlir::emitOptionalError(location, "'cleave.top_k' op expects a count between 1 and the size of the last "
                                             "dimension; got: ",
                                   count, " of ", type);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = count;
  types.push_back(mlir::RankedTensorType::get(shape, mlir::IntegerType::get(context, 64)));
  return mlir::success();
}

llvm::LogicalResult TopKOp::verify() {
  mlir::Type element = getOperand().getType().getElementType();
  if (!llvm::isa<mlir::FloatType>(element) && (!element.isSignlessInteger() || element.isInteger(1)))
    return emitOpError() << "takes floating-point and signed integer elements, cast others first; got: " << element;
  return mlir::success();
}

// Every row is ranked separately, and stays whole.
SmallVector<IteratorType> TopKOp::getLoopIteratorTypes() {
  return SmallVector<IteratorType>(getType().getRank() - 1, IteratorType::parallel);
}
SmallVector<ReductionKind> TopKOp::getReductionLoopIteratorKinds() { return {}; }
SmallVector<AffineMap> TopKOp::getIndexingMaps() {
  int64_t loops = getType().getRank() - 1;
  SmallVector<int64_t> dims = range(0, loops);
  dims.push_back(kWhole);
  return SmallVector<AffineMap>(2, loopMap(getContext(), loops, dims));
}

// Every element is compared with the worst one found so far, and few are better.
OpCost TopKOp::getCost() { return costWithFlops(*this, tensorTypeOf(getOperand()).getNumElements()); }
ComputeKind TopKOp::getComputeKind() { return ComputeKind::Kernel; }
KernelSpec TopKOp::getKernelSpec() {
  llvm::ArrayRef<int64_t> shape = shapeOf(getOperand());
  return {"top_k",
          {{"outer", {product(shape.drop_back())}},
           {"extent", {shape.back()}},
           {"count", {static_cast<int64_t>(getCount())}},
           {"smallest", {getSmallest()}}},
          {{"dtype", tensorTypeOf(getOperand()).getElementType()}}};
}
