// Imports operators that reorder, cut or overwrite along an axis: ReverseSequence, CenterCropPad, Compress,
// TensorScatter.
#include "compiler/Import/ONNX/Operators/SelectionOperators.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/StaticOperands.h"

#include <cstdint>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// A permutation with `first` and `second` in front and the others in their order, and its inverse.
struct FrontOrder {
  Shape order, back;
  FrontOrder(int64_t rank, int64_t first, int64_t second) : order{first, second}, back(size_t(rank), 0) {
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != first && dim != second)
        order.push_back(dim);
    for (int64_t dim = 0; dim < rank; ++dim)
      back[size_t(order[size_t(dim)])] = dim;
  }
};

// Returns the first known number for which `isBad` is true. Of a splat, only one element is checked.
std::optional<int64_t> firstBad(OpContext &op, size_t input, llvm::function_ref<bool(int64_t)> isBad) {
  const Literal *known = op.literal(input);
  int64_t count = known ? std::min<int64_t>(known->numElements(), known->isSplat() ? 1 : INT64_MAX) : 0;
  for (int64_t i = 0; i < count; ++i)
    if (isBad(known->asInt(i)))
      return known->asInt(i);
  return std::nullopt;
}

// Reverses the first `lens` elements of each sample, and keeps the others.
LogicalResult importReverseSequence(OpContext &op) {
  Value x = op.value(0), lengths = op.value(1);
  auto batch = op.axis(op.intAttr("batch_axis", 1), rankOf(x)), time = op.axis(op.intAttr("time_axis", 0), rankOf(x));
  if (failed(batch) || failed(time))
    return failure();
  if (*batch + *time != 1)
    return op.fail("`batch_axis` and `time_axis` must be 0 and 1, or 1 and 0; got " + llvm::Twine(*batch) + " and " +
                   llvm::Twine(*time));
  int64_t samples = shapeOf(x)[*batch], steps = shapeOf(x)[*time];
  if (shapeOf(lengths) != llvm::ArrayRef<int64_t>{samples})
    return op.fail("`sequence_lens` must have one number for each of " + llvm::Twine(samples) + " samples; got shape " +
                   formatShape(shapeOf(lengths)));
  if (auto bad = firstBad(op, 1, [&](int64_t length) { return length < 0 || length > steps; }))
    return op.fail("`sequence_lens` has " + llvm::Twine(*bad) + "; expected 0 to " + llvm::Twine(steps) +
                   ", the size of dimension " + llvm::Twine(*time));
  if (isEmpty(x))
    return op.result(x);
  Emitter &emit = op.emit;
  auto type = RankedTensorType::get({samples, steps}, emit.i64());
  Value step = emit.iota(1, type), length = emit.broadcastDims(emit.cast(lengths, emit.i64()), type.getShape(), {0});
  // A length beyond the end gives an index out of range, which the runtime reports.
  Value mirrored = emit.add(emit.sub(length, step), -1.0);
  Value index = emit.select(emit.compare(Predicate::Lt, step, length), mirrored, step);
  FrontOrder order(rankOf(x), *batch, *time);
  Value rows = pick(emit, emit.transpose(x, order.order), index, /*dim=*/1, /*batch=*/1);
  return op.result(emit.transpose(rows, order.back));
}

// Crops each axis, or pads it with zeros, on both sides. If the difference is odd, the end gets one more.
LogicalResult importCenterCropPad(OpContext &op) {
  Value x = op.value(0);
  auto sizes = op.ints("shape", 1);
  if (failed(sizes))
    return failure();
  auto dims = op.axisList(op.intsAttr("axes"), rankOf(x), size_t(rankOf(x)));
  if (failed(dims))
    return failure();
  if ((*sizes)->size() != dims->size())
    return op.fail("`shape` must have one size for each of " + llvm::Twine(dims->size()) + " axes; got " +
                   formatShape(**sizes));
  Shape start(rankOf(x), 0), kept(shapeOf(x)), low = start, high = start, result = kept;
  for (auto [dim, size] : llvm::zip(*dims, **sizes)) {
    result[dim] = size;
    int64_t more = size < 0 ? 0 : size - kept[dim];
    if (more < 0)
      start[dim] = -more / 2, kept[dim] = size;
    else
      low[dim] = more / 2, high[dim] = more - more / 2;
  }
  if (!countElements(result))
    return op.fail("the result " + formatShape(result) + " is negative somewhere or too large");
  return op.result(op.emit.pad(op.emit.slice(x, start, kept, Shape(kept.size(), 1)), low, high, 0));
}

// The condition must be known, because the number of selected elements decides the shape of the result.
LogicalResult importCompress(OpContext &op) {
  Value x = op.value(0);
  StaticOperand condition = staticOperand(op, 1);
  if (!condition)
    return op.fail(
        "its result's shape depends on `condition` (input 1), and every shape must be known at compile time");
  int64_t dim = 0;
  if (op.attribute("axis")) {
    auto given = op.axis(op.intAttr("axis", 0), rankOf(x));
    if (failed(given))
      return failure();
    dim = *given;
  } else {
    x = op.emit.reshape(x, {typeOf(x).getNumElements()});
  }
  int64_t size = shapeOf(x)[dim];
  if (condition->rank() != 1 || condition->numElements() > std::max<int64_t>(size, 1))
    return op.fail("`condition` must be a vector of at most " + llvm::Twine(size) + " truth values; got shape " +
                   formatShape(condition->shape()));
  if (!op.emit.budget.draw(Budget::Kind::Work, uint64_t(condition->numElements())))
    return failure();
  Shape places;
  for (int64_t i = 0, n = std::min(condition->numElements(), size); i < n; ++i)
    if (condition->asInt(i))
      places.push_back(i);
  Shape shape(shapeOf(x));
  shape[dim] = int64_t(places.size());
  if (*countElements(shape) == 0)
    return op.result(op.emit.splat(0, typeOf(x).clone(shape)));
  if (places.back() - places.front() + 1 == shape[dim])
    return op.result(op.emit.sliceDim(x, dim, places.front(), shape[dim]));
  return op.result(take(op.emit, x, op.emit.literal(Literal::vector(op.emit.context(), places)), dim));
}

LogicalResult checkCache(OpContext &op, Value cache, Value update, int64_t dim) {
  Shape expected(shapeOf(cache));
  expected[dim] = std::min(shapeOf(update).size() == expected.size() ? shapeOf(update)[dim] : 0, expected[dim]);
  if (dim == 0 || shapeOf(update) != llvm::ArrayRef<int64_t>(expected) || elementOf(cache) != elementOf(update))
    return op.fail("the update " + formatShape(shapeOf(update)) + " must have the type and shape of the cache " +
                   formatShape(shapeOf(cache)) + ", or less of dimension " + llvm::Twine(dim) +
                   ", which must not be the first one");
  if (op.has(2) && shapeOf(op.value(2)) != llvm::ArrayRef<int64_t>{expected[0]})
    return op.fail("`write_indices` must have one number for each of " + llvm::Twine(expected[0]) +
                   " samples; got shape " + formatShape(shapeOf(op.value(2))));
  return success();
}

// Returns the cache with the update written into it, from each sample's write index on. Each position of the cache
// reads the update that it gets. So nothing is written twice, and the order does not matter.
LogicalResult importTensorScatter(OpContext &op) {
  Value cache = op.value(0), update = op.value(1);
  std::string mode = op.stringAttr("mode", "linear");
  auto dim = op.axis(op.intAttr("axis", -2), rankOf(cache));
  if (failed(dim) || failed(checkCache(op, cache, update, *dim)))
    return failure();
  if (mode != "linear" && mode != "circular")
    return op.fail("mode " + quote(mode) + " is not known; expected linear or circular");
  if (isEmpty(update))
    return op.result(cache);
  Emitter &emit = op.emit;
  int64_t samples = shapeOf(cache)[0], size = shapeOf(cache)[*dim], count = shapeOf(update)[*dim];
  auto type = RankedTensorType::get({samples, size}, emit.i64());
  Value offset = emit.iota(1, type); // distance of each position of the cache from the start of the update
  if (op.has(2)) {
    Value begin = emit.cast(op.value(2), emit.i64());
    int64_t last = mode == "linear" ? size - count : size - 1;
    if (auto bad = firstBad(op, 2, [&](int64_t at) { return at < 0 || at > last; }))
      return op.fail("`write_indices` has " + llvm::Twine(*bad) + ": " + llvm::Twine(count) +
                     " places from there on are not in a cache of " + llvm::Twine(size));
    if (!op.literal(2))
      begin = checkLabels(emit, begin, last + 1, std::nullopt);
    offset = emit.sub(offset, emit.broadcastDims(begin, type.getShape(), {0}));
    if (mode == "circular") // starts are in [0, size)
      offset = emit.select(emit.compare(Predicate::Lt, offset, 0.0), emit.add(offset, double(size)), offset);
  }
  Value isWritten =
      emit.binary<AndOp>(emit.compare(Predicate::Ge, offset, 0.0), emit.compare(Predicate::Lt, offset, double(count)));
  Value index = emit.select(isWritten, offset, emit.splat(0, type));
  FrontOrder order(rankOf(cache), 0, *dim);
  Value written = pick(emit, emit.transpose(update, order.order), index, /*dim=*/1, /*batch=*/1);
  Value old = emit.transpose(cache, order.order);
  Value result = emit.select(emit.broadcastDims(isWritten, shapeOf(old), {0, 1}), written, old);
  return op.result(emit.transpose(result, order.back));
}

} // namespace

void cleave::onnx_import::addSelectionOperators(OperatorTable &table) {
  table.add("ReverseSequence", 13, importReverseSequence);
  table.add("CenterCropPad", 18, importCenterCropPad);
  table.add("Compress", 13, importCompress);
  table.add("TensorScatter", 24, importTensorScatter);
}
