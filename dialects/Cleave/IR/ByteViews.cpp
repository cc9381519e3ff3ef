// Which values of the shape ops are a range of the bytes of others.
#include "dialects/Cleave/IR/Cleave.h"

using namespace cleave;
using llvm::SmallVector;

SmallVector<ByteView> ReshapeOp::getByteViews() { return {{getOperand(), getResult(), 0}}; }

SmallVector<ByteView> OffloadOp::getByteViews() { return {{getOperand(), getResult(), 0}}; }

// A slice is a view if its elements are contiguous: outside of the outermost dimension that is cut, it has one element
// in each dimension.
SmallVector<ByteView> SliceOp::getByteViews() {
  mlir::RankedTensorType type = getOperand().getType();
  int64_t stride = byteSize(type) / std::max<int64_t>(type.getNumElements(), 1), offset = 0;
  bool whole = true; // all dimensions inside of this one are taken whole
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t size = getSizes()[dim];
    if (size > 1 && (getSteps()[dim] != 1 || !whole))
      return {};
    whole = whole && size == type.getDimSize(dim);
    offset += getStarts()[dim] * stride;
    stride *= type.getDimSize(dim);
  }
  return {{getOperand(), getResult(), static_cast<uint64_t>(offset)}};
}

SmallVector<ByteView> ConcatOp::getByteViews() {
  for (int64_t size : getResult().getType().getShape().take_front(getDim()))
    if (size != 1)
      return {};
  SmallVector<ByteView> views;
  uint64_t offset = 0;
  for (mlir::Value operand : getOperands()) {
    views.push_back({getResult(), operand, offset});
    offset += byteSize(operand.getType());
  }
  return views;
}
