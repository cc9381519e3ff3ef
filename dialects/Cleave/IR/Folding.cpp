#include "dialects/Cleave/IR/Folding.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace cleave;

bool cleave::isSplatOf(mlir::Attribute constant, double value) {
  auto dense = llvm::dyn_cast_if_present<mlir::DenseElementsAttr>(constant);
  if (!dense || !dense.isSplat())
    return false;
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(dense.getSplatValue<mlir::Attribute>()))
    return number.getValueAsDouble() == value;
  auto number = llvm::dyn_cast<mlir::IntegerAttr>(dense.getSplatValue<mlir::Attribute>());
  if (!number)
    return false;
  const llvm::APInt &bits = number.getValue();
  return bits == llvm::APInt(64, static_cast<int64_t>(value), true).sextOrTrunc(bits.getBitWidth());
}

llvm::SmallVector<int64_t> cleave::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

// The next index in row-major order.
static void advance(llvm::SmallVectorImpl<int64_t> &index, llvm::ArrayRef<int64_t> shape) {
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    if (++index[dim] < shape[dim])
      return;
    index[dim] = 0;
  }
}

mlir::DenseElementsAttr cleave::gatherConstant(mlir::DenseElementsAttr constant, mlir::RankedTensorType type,
                                               llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> source) {
  if (!isFoldable(constant))
    return nullptr;
  if (constant.isSplat())
    return mlir::DenseElementsAttr::get(type, constant.getSplatValue<mlir::Attribute>());
  if (type.getNumElements() > kMaxFoldedElements)
    return nullptr;
  llvm::SmallVector<mlir::Attribute> values(constant.getValues<mlir::Attribute>()), gathered;
  llvm::SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t i = 0, count = type.getNumElements(); i < count; ++i) {
    gathered.push_back(values[source(index)]);
    advance(index, type.getShape());
  }
  return mlir::DenseElementsAttr::get(type, gathered);
}
