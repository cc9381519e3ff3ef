// cleave.check_index.
#include "dialects/Cleave/IR/Elementwise.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Scatter.h"

using namespace cleave;
using mlir::utils::IteratorType;

llvm::LogicalResult CheckIndexOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location>,
                                                   mlir::ValueRange operands, mlir::DictionaryAttr,
                                                   mlir::OpaqueProperties, mlir::RegionRange,
                                                   llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(operands[0].getType());
  return mlir::success();
}

llvm::LogicalResult CheckIndexOp::verify() {
  mlir::Type element = getType().getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return emitOpError("expects i32 or i64 elements; got: ") << element;
  int64_t first = getFirst(), end = getEnd();
  if (first >= end)
    return emitOpError("expects a first number that is smaller than the end; got: ") << first << " to " << end;
  return mlir::success();
}

SmallVector<IteratorType> CheckIndexOp::getLoopIteratorTypes() { return elementwiseLoops(*this); }
SmallVector<ReductionKind> CheckIndexOp::getReductionLoopIteratorKinds() { return {}; }
SmallVector<AffineMap> CheckIndexOp::getIndexingMaps() { return elementwiseMaps(*this); }

OpCost CheckIndexOp::getCost() { return costWithFlops(*this, 0); }
ComputeKind CheckIndexOp::getComputeKind() { return ComputeKind::Kernel; }

// If there is no number to replace an index by, `first` is given, which is in range.
KernelSpec CheckIndexOp::getKernelSpec() {
  int64_t first = getFirst(), end = getEnd();
  return {"check_index",
          {{"count", {getType().getNumElements()}},
           {"first", {first}},
           {"end", {end}},
           {"other", {getOther() ? static_cast<int64_t>(*getOther()) : first}}},
          {{"dtype", getType().getElementType()}}};
}
