// Imports operators that select elements: Slice, Split, Gather, Pad, Trilu, OneHot.
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Slicing.h"
#include "compiler/Import/ONNX/Operators/StridedIndices.h"
#include "compiler/Import/ONNX/StaticOperands.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

llvm::ArrayRef<int64_t> inputShape(OpContext &op) {
  return op.literal(0) ? op.literal(0)->shape() : shapeOf(op.value(0));
}

LogicalResult importSlice(OpContext &op) {
  Shape shape(inputShape(op));
  auto starts = op.ints("starts", 1), ends = op.ints("ends", 2), given = op.ints("axes", 3),
       steps = op.ints("steps", 4);
  if (failed(starts) || failed(ends) || failed(given) || failed(steps))
    return failure();
  Shape from = **starts, to = **ends;
  auto dims = op.axisList(*given, int64_t(shape.size()), from.size());
  Shape by = *steps ? **steps : Shape(from.size(), 1);
  if (failed(dims))
    return failure();
  if (to.size() != from.size() || dims->size() != from.size() || by.size() != from.size())
    return op.fail("starts, ends, axes and steps must have equal lengths; got " + llvm::Twine(from.size()) + ", " +
                   llvm::Twine(to.size()) + ", " + llvm::Twine(dims->size()) + " and " + llvm::Twine(by.size()));
  Shape begin(shape.size(), 0), size = shape, step(shape.size(), 1);
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    if (by[i] == 0)
      return op.fail("step 0 is not allowed");
    DimSlice one = sliceDim(shape[dim], from[i], to[i], by[i]);
    begin[dim] = one.start, size[dim] = one.size, step[dim] = one.step;
  }
  if (op.literal(0))
    if (auto known = sliceLiteral(*op.literal(0), begin, size, step))
      return op.result(std::move(*known));
  // A dimension with a negative step is gathered by indices.
  Value x = op.value(0);
  for (int64_t dim = 0; dim < rankOf(x); ++dim)
    if (step[dim] < 0) {
      auto type = RankedTensorType::get({size[dim]}, op.emit.i64());
      Value indices = op.emit.add(op.emit.mul(op.emit.iota(0, type), double(step[dim])), double(begin[dim]));
      x = take(op.emit, x, indices, dim);
      begin[dim] = 0, step[dim] = 1;
    }
  return op.result(op.emit.slice(x, begin, size, step));
}

// Returns the sizes of the parts of a dimension of this size.
FailureOr<Shape> splitSizes(OpContext &op, int64_t size) {
  auto given = op.ints("split", 1);
  if (failed(given))
    return failure();
  const bool hasCount = op.attribute("num_outputs"), isEither = op.opset() >= 18;
  if (isEither && hasCount == given->has_value())
    return op.fail("from opset 18 on it needs either `split` or `num_outputs`; got " +
                   llvm::Twine(hasCount ? "both" : "neither"));
  if (*given) {
    auto total = int64_t(0);
    for (int64_t part : **given)
      if (part < 0 || llvm::AddOverflow(total, part, total))
        return op.fail("split sizes must not be negative; got " + formatShape(**given));
    if (total != size || (*given)->size() != op.numOutputs())
      return op.fail("split sizes " + formatShape(**given) + " must be one an output and add up to " +
                     llvm::Twine(size));
    return **given;
  }
  int64_t count = op.intAttr("num_outputs", int64_t(op.numOutputs()));
  if (count < 1 || count != int64_t(op.numOutputs()))
    return op.fail("`num_outputs` must be the number of outputs, " + llvm::Twine(op.numOutputs()));
  if (!isEither && size % count != 0)
    return op.fail("a dimension of " + llvm::Twine(size) + " has no " + llvm::Twine(count) +
                   " equal parts; before opset 18 the parts of other sizes need `split`");
  int64_t chunk = (size + count - 1) / count;
  Shape sizes;
  for (int64_t at = 0; int64_t(sizes.size()) < count; at += chunk)
    sizes.push_back(std::clamp<int64_t>(size - at, 0, chunk));
  return sizes;
}

LogicalResult importSplit(OpContext &op) {
  Shape shape(inputShape(op));
  auto dim = op.axis(op.intAttr("axis", 0), int64_t(shape.size()));
  if (failed(dim))
    return failure();
  auto sizes = splitSizes(op, shape[*dim]);
  if (failed(sizes))
    return failure();
  Shape start(shape.size(), 0), part = shape;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    part[*dim] = size;
    std::optional<Literal> known;
    if (op.literal(0))
      known = sliceLiteral(*op.literal(0), start, part, Shape(shape.size(), 1));
    op.define(i, known ? Binding::literal(std::move(*known))
                       : Binding::computed(op.emit.sliceDim(op.value(0), *dim, start[*dim], size)));
    start[*dim] += size;
  }
  return success();
}

LogicalResult checkKnownIndices(OpContext &op, const Literal &indices, int64_t dim, int64_t size) {
  for (int64_t i = 0, count = indices.isSplat() ? std::min<int64_t>(indices.numElements(), 1) : indices.numElements();
       i < count; ++i)
    if (int64_t index = indices.asInt(i); index < -size || index >= size)
      return op.fail("index " + llvm::Twine(index) + " is outside of dimension " + llvm::Twine(dim) + " of size " +
                     llvm::Twine(size));
  return success();
}

LogicalResult importGather(OpContext &op) {
  Shape shape(inputShape(op));
  auto dim = op.axis(op.intAttr("axis", 0), int64_t(shape.size()));
  if (failed(dim))
    return failure();
  const Literal *indices = op.literal(1);
  if (indices && !indices->isFloat() && failed(checkKnownIndices(op, *indices, *dim, shape[*dim])))
    return failure();
  if (op.literal(0) && indices && !indices->isFloat())
    if (auto known = takeLiteral(*op.literal(0), *indices, *dim))
      return op.result(std::move(*known));
  Value table = op.value(0);
  // A single known index is a slice, whose gradient needs no scatter.
  if (indices && !indices->isFloat() && indices->numElements() == 1) {
    int64_t index = indices->asInt(0), size = shape[*dim];
    Shape result(llvm::ArrayRef<int64_t>(shape).take_front(*dim));
    result.append(indices->shape().begin(), indices->shape().end());
    result.append(shape.begin() + *dim + 1, shape.end());
    return op.result(op.emit.reshape(op.emit.sliceDim(table, *dim, index < 0 ? index + size : index, 1), result));
  }
  // Known indices at regular distances are slices, too: positions 0, 1, ... of an embedding, windows of a view.
  if (Binding &binding = op.environment().binding(op.inputName(1)); binding.known && !binding.known->isFloat())
    if (Value taken = takeStrided(op.emit, table, *binding.known, *dim)) {
      staticOperand(op, 1);
      return op.result(taken);
    }
  Value rows = op.value(1);
  if (isFloat(rows))
    return op.fail("indices must be integers");
  Shape result(llvm::ArrayRef<int64_t>(shape).take_front(*dim));
  result.append(shapeOf(rows).begin(), shapeOf(rows).end());
  result.append(shape.begin() + *dim + 1, shape.end());
  if (!countElements(result))
    return op.fail("the result " + formatShape(result) + " is too large");
  noteIndices(rows, shape[*dim], refusesNegativeIndices(op.node()));
  return op.result(take(op.emit, table, rows, *dim));
}

// Returns elements first, first - 1, ... of one dimension. If they are few, each is a slice.
Value takeBackwards(Emitter &emit, Value x, int64_t dim, int64_t first, int64_t count) {
  constexpr int64_t kFew = 16;
  if (count <= kFew) {
    llvm::SmallVector<Value> parts;
    for (int64_t i = 0; i < count; ++i)
      parts.push_back(emit.sliceDim(x, dim, first - i, 1));
    return emit.concat(parts, dim);
  }
  auto type = RankedTensorType::get({count}, emit.i64());
  return take(emit, x, emit.add(emit.neg(emit.iota(0, type)), double(first)), dim);
}

// Pads both sides of one dimension with copies of the edge, or with the mirrored inside.
Value padDim(Emitter &emit, Value x, int64_t dim, int64_t low, int64_t high, bool reflect) {
  int64_t size = shapeOf(x)[dim];
  // Returns `count` elements from the inside, from `first` backwards, or `count` copies of element `first`.
  auto part = [&](int64_t first, int64_t count) {
    if (reflect)
      return takeBackwards(emit, x, dim, first, count);
    Shape copies(shapeOf(x));
    copies[dim] = count;
    return emit.broadcastTo(emit.sliceDim(x, dim, first, 1), copies);
  };
  llvm::SmallVector<Value> parts;
  if (low > 0)
    parts.push_back(part(reflect ? low : 0, low));
  parts.push_back(x);
  if (high > 0)
    parts.push_back(part(reflect ? size - 2 : size - 1, high));
  return emit.concat(parts, dim);
}

// Pads with the other end of the dimension, as often as necessary.
Value wrapDim(Emitter &emit, Value x, int64_t dim, int64_t low, int64_t high) {
  int64_t size = shapeOf(x)[dim];
  if (low == 0 && high == 0)
    return x;
  if (low <= size && high <= size)
    return emit.concat({emit.sliceDim(x, dim, size - low, low), x, emit.sliceDim(x, dim, 0, high)}, dim);
  auto type = RankedTensorType::get({low + size + high}, emit.i64());
  Value places = emit.add(emit.iota(0, type), double((size - low % size) % size));
  return take(emit, x, emit.binary<RemOp>(places, double(size)), dim);
}

// The pad value is a double. For integers that a double cannot represent, x - fill is padded with zeros, and fill is
// added afterwards. Integer arithmetic wraps around, so the inside is unchanged.
Value padConstant(OpContext &op, Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value) {
  const Literal *exact = op.literal(2);
  if (!exact || exact->isFloat() || std::abs(value) < double(int64_t(1) << 53))
    return op.emit.pad(x, low, high, value);
  Value fill = op.emit.literal(exact->withShape({}));
  return op.emit.add(op.emit.pad(op.emit.sub(x, fill), low, high, 0), fill);
}

LogicalResult importPad(OpContext &op) {
  Value x = op.value(0);
  auto pads = op.ints("pads", 1), given = op.ints("axes", 3);
  auto value = op.number("value", 2);
  if (failed(pads) || failed(given) || failed(value))
    return failure();
  auto dims = op.axisList(*given, rankOf(x), size_t(rankOf(x)));
  if (failed(dims))
    return failure();
  if ((*pads)->size() != 2 * dims->size())
    return op.fail("`pads` must have two numbers for each of " + llvm::Twine(dims->size()) + " dimensions");
  Shape low(rankOf(x), 0), high(rankOf(x), 0), size(shapeOf(x));
  std::string mode = op.stringAttr("mode", "constant");
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    low[dim] = (**pads)[i], high[dim] = (**pads)[i + dims->size()];
    constexpr int64_t limit = int64_t(1) << 30;
    auto isFar = [](int64_t pad) {
      return pad < -limit || pad > limit;
    }; // std::abs is undefined for the smallest integer
    if (isFar(low[dim]) || isFar(high[dim]) || size[dim] + low[dim] + high[dim] < 0 || low[dim] < -size[dim] ||
        high[dim] < -size[dim])
      return op.fail("pads " + formatShape(**pads) + " do not fit shape " + formatShape(shapeOf(x)));
  }
  // Negative pads remove elements.
  Shape starts(rankOf(x), 0);
  for (size_t i = 0; i < low.size(); ++i) {
    starts[i] = std::max<int64_t>(-low[i], 0);
    size[i] -= starts[i] + std::max<int64_t>(-high[i], 0);
    low[i] = std::max<int64_t>(low[i], 0), high[i] = std::max<int64_t>(high[i], 0);
    int64_t copied = std::max(low[i], high[i]), least = mode == "reflect" ? copied + 1 : 1;
    if (mode != "constant" && copied > 0 && size[i] < least)
      return op.fail("pads " + formatShape(**pads) + " leave " + llvm::Twine(size[i]) + " elements of dimension " +
                     llvm::Twine(i) + " of " + formatShape(shapeOf(x)) + "; mode " + quote(mode) + " needs at least " +
                     llvm::Twine(least));
  }
  x = op.emit.slice(x, starts, size, Shape(size.size(), 1));
  if (mode == "constant")
    return op.result(padConstant(op, x, low, high, value->value_or(0)));
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return op.fail("mode " + quote(mode) + " is not known; expected constant, edge, reflect or wrap");
  Shape result(shapeOf(x));
  for (size_t dim = 0; dim < result.size(); ++dim)
    result[dim] += low[dim] + high[dim];
  if (!countElements(result))
    return op.fail("the result " + formatShape(result) + " is too large");
  for (int64_t dim = 0; dim < rankOf(x); ++dim)
    x = mode == "wrap" ? wrapDim(op.emit, x, dim, low[dim], high[dim])
                       : padDim(op.emit, x, dim, low[dim], high[dim], mode == "reflect");
  return op.result(x);
}

LogicalResult importTrilu(OpContext &op) {
  auto k = op.number("k", 1);
  if (failed(k))
    return failure();
  llvm::ArrayRef<int64_t> shape = inputShape(op);
  int64_t rank = int64_t(shape.size());
  if (rank < 2)
    return op.fail("expected an input of rank 2 or more; got shape " + formatShape(shape));
  bool upper = op.intAttr("upper", 1) != 0;
  int64_t shift = int64_t(std::clamp(k->value_or(0), -1e15, 1e15));
  auto keeps = [&](int64_t row, int64_t column) { return upper ? column >= row + shift : column <= row + shift; };
  if (const Literal *a = op.literal(0)) {
    Literal zero = Literal::ofInts(a->element(), {}, {0});
    Literal mask(op.emit.builder.getI1Type(), shape.take_back(2));
    bool small = *countElements(shape) <= Literal::kMaxElements && mayEvaluate(op.emit.context(), mask.shape());
    for (int64_t i = 0; small && i < mask.shape()[0]; ++i)
      for (int64_t j = 0; j < mask.shape()[1]; ++j)
        mask.push(int64_t(keeps(i, j)));
    if (small)
      if (auto known = selectLiteral(mask, *a, zero))
        return op.result(std::move(*known));
  }
  auto indices = RankedTensorType::get(shape, op.emit.i64());
  Value row = op.emit.add(op.emit.iota(rank - 2, indices), double(shift)), column = op.emit.iota(rank - 1, indices);
  Value keep = op.emit.compare(upper ? Predicate::Ge : Predicate::Le, column, row);
  return op.result(op.emit.select(keep, op.value(0), op.emit.splat(0, typeOf(op.value(0)))));
}

LogicalResult importOneHot(OpContext &op) {
  Value indices = op.emit.cast(op.value(0), op.emit.i64()), values = op.value(2);
  auto depth = op.number("depth", 1);
  if (failed(depth) || failed(op.expectRank(values, 1, 1)))
    return failure();
  auto dim = op.axis(op.intAttr("axis", -1), rankOf(indices), /*inclusive=*/true);
  if (failed(dim))
    return failure();
  int64_t size = int64_t(depth->value_or(0));
  Shape all(shapeOf(indices)), dims;
  all.insert(all.begin() + *dim, size);
  if (size < 1 || !countElements(all) || shapeOf(values)[0] != 2)
    return op.fail("expected a depth of at least 1 and two values (off, on)");
  for (int64_t i = 0; i < rankOf(indices); ++i)
    dims.push_back(i < *dim ? i : i + 1);
  indices = op.emit.select(op.emit.compare(Predicate::Lt, indices, 0.0), op.emit.add(indices, double(size)), indices);
  Value hot = op.emit.compare(Predicate::Eq, op.emit.iota(*dim, RankedTensorType::get(all, op.emit.i64())),
                              op.emit.broadcastDims(indices, all, dims));
  Value off = op.emit.reshape(op.emit.sliceDim(values, 0, 0, 1), {}),
        on = op.emit.reshape(op.emit.sliceDim(values, 0, 1, 1), {});
  return op.result(op.emit.select(hot, on, off));
}

} // namespace

void cleave::onnx_import::addIndexingOperators(OperatorTable &table) {
  table.add("Slice", 13, importSlice);
  table.add("Split", 13, importSplit);
  table.add("Gather", 13, importGather);
  table.add("Pad", 13, importPad);
  table.add("Trilu", 14, importTrilu);
  table.add("OneHot", 13, importOneHot);
}
