#include "dialects/Cleave/IR/Folding.h"
#include "dialects/Cleave/IR/Budget.h"

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

// Moves to the next index in row-major order.
static void advance(llvm::SmallVectorImpl<int64_t> &index, llvm::ArrayRef<int64_t> shape) {
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    if (++index[dim] < shape[dim])
      return;
    index[dim] = 0;
  }
}

bool cleave::drawFolding(mlir::Operation *op, int64_t elements) {
  return Budget::of(op->getContext()).drawOptional(Budget::Kind::Elements, static_cast<uint64_t>(elements));
}

// Returns a constant of `type` whose element i is element `source(i)` of `values`. It makes no attribute for each
// element, because the context would keep these for ever.
template <typename T, typename Values>
static mlir::DenseElementsAttr gather(mlir::RankedTensorType type, Values values,
                                      llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> source) {
  llvm::SmallVector<T> gathered;
  llvm::SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t i = 0, count = type.getNumElements(); i < count; ++i) {
    gathered.push_back(values[source(index)]);
    advance(index, type.getShape());
  }
  return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<T>(gathered));
}

mlir::DenseElementsAttr cleave::gatherConstant(mlir::Operation *op, mlir::DenseElementsAttr constant,
                                               llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> source) {
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (!isFoldable(constant))
    return nullptr;
  if (constant.isSplat())
    return constant.resizeSplat(type);
  if (type.getNumElements() > kMaxFoldedElements || !drawFolding(op, type.getNumElements()))
    return nullptr;
  if (llvm::isa<mlir::FloatType>(type.getElementType()))
    return gather<llvm::APFloat>(type, constant.getValues<llvm::APFloat>(), source);
  return gather<llvm::APInt>(type, constant.getValues<llvm::APInt>(), source);
}
