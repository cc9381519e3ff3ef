#include "compiler/Training/Optimizers/TensorRanges.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace cleave {

namespace {
// In the buckets of form-buckets, each tensor and each rank's part begin at multiples of this many elements. (In a
// bucket of f64, tensors begin at multiples of 16: blockSize.)
constexpr int64_t kBlock = 32;
} // namespace

bool TensorRanges::isOne(ArrayRef<int64_t> shape) const {
  return ranges.size() == 1 && ranges.front().elements == ShapedType::getNumElements(shape);
}

int64_t TensorRanges::blockSize(int64_t elements) const {
  int64_t block = std::gcd(kBlock, elements);
  for (const Range &range : ranges)
    block = std::gcd(block, range.offset);
  return block;
}

Value TensorRanges::membership(Arithmetic &a, int64_t blocks, int64_t block) const {
  SmallVector<int64_t> begins, ends;
  for (const Range &range : ranges) {
    begins.push_back(range.offset / block);
    ends.push_back(llvm::divideCeil(range.offset + range.elements, block));
  }
  int64_t shape[] = {static_cast<int64_t>(ranges.size()), blocks};
  Value index = a.index(shape, 1);
  Value isAfterBegin = a.compare(Predicate::Ge, index, a.along(a.table(begins), 0, shape));
  return a.mask(isAfterBegin, a.compare(Predicate::Lt, index, a.along(a.table(ends), 0, shape)));
}

// An element counts if it is before the end of its block's tensor. Blocks between tensors have the end 0.
Value TensorRanges::withoutPadding(Arithmetic &a, Value x) const {
  int64_t blocks = tensorType(x).getDimSize(0), block = tensorType(x).getDimSize(1);
  if (llvm::all_of(ranges, [&](const Range &range) { return range.elements % block == 0; }))
    return x;
  SmallVector<int64_t> ends;
  for (const Range &range : ranges)
    ends.push_back(range.offset + range.elements);
  int64_t table[] = {static_cast<int64_t>(ranges.size()), blocks}, shape[] = {blocks, block};
  Value end = a.along(a.table(ends), 0, table);
  end = a.sum(a.select(membership(a, blocks, block), end, a.splat(tensorType(end), 0)), {0});
  Value first = a.index(shape, 0);
  Value place = a.add(a.mul(first, a.splat(tensorType(first), static_cast<double>(block))), a.index(shape, 1));
  return a.select(a.compare(Predicate::Lt, place, a.along(end, 0, shape)), x, a.splat(tensorType(x), 0));
}

Value TensorRanges::sumsOfSquares(Arithmetic &a, Value x) const {
  auto squares = [&](Value part) {
    Value wide = a.cast(part, Float64Type::get(x.getContext()));
    return a.mul(wide, wide);
  };
  RankedTensorType type = tensorType(x);
  if (isOne(type.getShape()))
    return a.reshape(a.sum(squares(x)), {1});
  int64_t block = blockSize(type.getNumElements()), blocks = type.getNumElements() / block;
  Value byBlock = a.sum(squares(withoutPadding(a, a.reshape(x, {blocks, block}))), {1});
  Value table = a.along(byBlock, 1, {static_cast<int64_t>(ranges.size()), blocks});
  return a.sum(a.select(membership(a, blocks, block), table, a.splat(tensorType(table), 0)), {1});
}

Value TensorRanges::scale(Arithmetic &a, Value x, Value numbers) const {
  RankedTensorType type = tensorType(x);
  numbers = a.cast(numbers, type.getElementType());
  if (isOne(type.getShape()))
    return a.mul(x, a.spread(a.reshape(numbers, {}), x));
  int64_t block = blockSize(type.getNumElements()), blocks = type.getNumElements() / block;
  Value table = a.along(numbers, 0, {static_cast<int64_t>(ranges.size()), blocks});
  Value byBlock = a.sum(a.select(membership(a, blocks, block), table, a.splat(tensorType(table), 0)), {0});
  Value scaled = a.mul(a.reshape(x, {blocks, block}), a.along(byBlock, 0, {blocks, block}));
  return a.reshape(scaled, type.getShape());
}

} // namespace cleave
