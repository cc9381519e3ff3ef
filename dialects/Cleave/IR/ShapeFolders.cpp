// Folders of the shape ops: identities, chains of the same op, and small constants.
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Folding.h"

#include "llvm/ADT/APFloat.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::DenseElementsAttr;
using mlir::OpFoldResult;

static DenseElementsAttr dense(mlir::Attribute attribute) {
  return llvm::dyn_cast_if_present<DenseElementsAttr>(attribute);
}

static bool isIota(llvm::ArrayRef<int64_t> values) {
  for (auto [i, value] : llvm::enumerate(values))
    if (value != static_cast<int64_t>(i))
      return false;
  return true;
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType() && !(*this)->hasAttr(kWholeAttr))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  DenseElementsAttr constant = dense(adaptor.getOperand());
  bool hasSameCount = constant && constant.getNumElements() == getResult().getType().getNumElements();
  return hasSameCount && isFoldable(constant) ? constant.reshape(getResult().getType())
                                              : nullptr; // else the verifier fails
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIota(getPermutation()))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t dim : getPermutation())
      composed.push_back(inner.getPermutation()[dim]);
    setPermutation(composed);
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  SmallVector<int64_t> strides = rowMajorStrides(getOperand().getType().getShape());
  return gatherConstant(*this, dense(adaptor.getOperand()), [&](llvm::ArrayRef<int64_t> index) {
    int64_t source = 0;
    for (auto [position, dim] : llvm::zip_equal(index, getPermutation()))
      source += position * strides[dim];
    return source;
  });
}

// Returns the dimensions of `to` to which the dimensions of `from` that are not of size 1 correspond, and -1 for the
// others. Returns nullopt unless the two shapes differ in dimensions of size 1 alone.
static std::optional<SmallVector<int64_t>> dimsWithoutUnits(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  SmallVector<int64_t> places;
  int64_t next = 0, rank = static_cast<int64_t>(to.size());
  auto skipUnits = [&] {
    while (next < rank && to[next] == 1)
      ++next;
  };
  for (int64_t size : from) {
    skipUnits();
    if (size != 1 && (next == rank || to[next] != size))
      return std::nullopt;
    places.push_back(size == 1 ? -1 : next++);
  }
  skipUnits();
  return next == rank ? std::optional(places) : std::nullopt;
}

// Returns the dimensions of the outer broadcast's operand that the operand of `inner` becomes; nullopt if it cannot be
// broadcast at once. Between the two, a reshape may add and remove dimensions of size 1, which is how [batch, 1, rows,
// columns] is broadcast to [batch, heads, rows, columns].
static std::optional<SmallVector<int64_t>> dimsOf(BroadcastOp inner, ReshapeOp between) {
  if (!between)
    return SmallVector<int64_t>(inner.getDims());
  auto places = dimsWithoutUnits(inner.getType().getShape(), between.getType().getShape());
  if (!places || between->hasAttr(kWholeAttr))
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back((*places)[dim]);
  return llvm::is_contained(dims, -1) ? std::nullopt : std::optional(dims);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  auto between = getOperand().getDefiningOp<ReshapeOp>();
  auto inner = (between ? between.getOperand() : getOperand()).getDefiningOp<BroadcastOp>();
  if (auto dims = inner ? dimsOf(inner, between) : std::nullopt) {
    for (int64_t &dim : *dims)
      dim = getDims()[dim];
    setDims(*dims);
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  SmallVector<int64_t> strides = rowMajorStrides(getOperand().getType().getShape());
  return gatherConstant(*this, dense(adaptor.getOperand()), [&](llvm::ArrayRef<int64_t> index) {
    int64_t source = 0;
    for (auto [dim, stride] : llvm::zip_equal(getDims(), strides))
      source += index[dim] * stride;
    return source;
  });
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getResult().getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<SliceOp>()) {
    SmallVector<int64_t> starts, steps;
    for (auto [start, step, innerStart, innerStep] :
         llvm::zip_equal(getStarts(), getSteps(), inner.getStarts(), inner.getSteps())) {
      starts.push_back(innerStart + start * innerStep);
      steps.push_back(step * innerStep);
    }
    setStarts(starts);
    setSteps(steps);
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  SmallVector<int64_t> strides = rowMajorStrides(getOperand().getType().getShape());
  return gatherConstant(*this, dense(adaptor.getOperand()), [&](llvm::ArrayRef<int64_t> index) {
    int64_t source = 0;
    for (auto [position, start, step, stride] : llvm::zip_equal(index, getStarts(), getSteps(), strides))
      source += (start + position * step) * stride;
    return source;
  });
}

template <typename T>
static DenseElementsAttr joinBlocks(mlir::RankedTensorType type, llvm::ArrayRef<DenseElementsAttr> parts,
                                    int64_t blocks) {
  SmallVector<T> values;
  for (int64_t block = 0; block < blocks; ++block)
    for (DenseElementsAttr part : parts) {
      auto elements = part.getValues<T>();
      int64_t count = part.getNumElements() / blocks;
      values.append(elements.begin() + block * count, elements.begin() + (block + 1) * count);
    }
  return DenseElementsAttr::get(type, llvm::ArrayRef<T>(values));
}

// Equal splats become one splat. Other constants are concatenated element by element.
OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getNumOperands() == 1)
    return getOperand(0);
  auto type = getResult().getType();
  SmallVector<DenseElementsAttr> parts;
  for (mlir::Attribute operand : adaptor.getOperands()) {
    if (!isFoldable(dense(operand)))
      return nullptr;
    parts.push_back(dense(operand));
  }
  auto splatValue = [](DenseElementsAttr part) { return part.getSplatValue<mlir::Attribute>(); };
  if (llvm::all_of(parts, [&](auto part) {
        return part.isSplat() && parts[0].isSplat() && splatValue(part) == splatValue(parts[0]);
      }))
    return DenseElementsAttr::get(type, splatValue(parts[0]));
  if (type.getNumElements() > kMaxFoldedElements || !drawFolding(*this, type.getNumElements()))
    return nullptr;
  // A block is the elements under one index of the dimensions before `dim`. Blocks of the parts alternate.
  int64_t blocks = 1;
  for (int64_t size : type.getShape().take_front(getDim()))
    blocks *= size;
  if (llvm::isa<mlir::FloatType>(type.getElementType()))
    return joinBlocks<llvm::APFloat>(type, parts, blocks);
  return joinBlocks<llvm::APInt>(type, parts, blocks);
}
