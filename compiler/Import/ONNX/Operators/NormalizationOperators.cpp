// Imports layer, instance, group, RMS, Lp and local response normalization: reshapes around cleave.normalize, scale and
// bias.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

Shape trailingDims(Value x, int64_t first) { return Shape(llvm::to_vector(llvm::seq<int64_t>(first, rankOf(x)))); }

// Checks that the other inputs broadcast to the first one, and not the first one to them.
LogicalResult expectParts(OpContext &op, Value x) {
  auto shape = op.commonShape(op.values());
  if (failed(shape) || llvm::ArrayRef<int64_t>(*shape) == shapeOf(x))
    return shape;
  return op.fail("scale and bias must broadcast to the input " + formatShape(shapeOf(x)) +
                 "; with it they have the shape " + formatShape(*shape));
}

LogicalResult importLayerNormalization(OpContext &op) {
  Value x = op.value(0);
  auto first = op.axis(op.intAttr("axis", -1), rankOf(x));
  if (failed(first) || failed(op.expectFloat(x)) || failed(expectParts(op, x)))
    return failure();
  Shape dims = trailingDims(x, *first), kept = reducedShape(shapeOf(x), dims, true);
  auto normalized = op.emit.normalize(x, dims, op.floatAttr("epsilon", 1e-5));
  Value y = op.emit.mul(normalized.result, op.value(1));
  if (op.has(2))
    y = op.emit.add(y, op.value(2));
  // Statistics have the type `stash_type` for every type of x; its default is f32. f64 inputs are computed in f64
  // nevertheless.
  mlir::Type stash = elementTypeOf(op.emit.context(), int(op.intAttr("stash_type", 1)));
  if (!stash || !llvm::isa<mlir::FloatType>(stash))
    return op.fail("`stash_type` " + llvm::Twine(op.intAttr("stash_type", 1)) + " is not a floating-point type");
  op.define(1, Binding::computed(op.emit.cast(op.emit.reshape(normalized.mean, kept), stash)));
  if (op.wants(2)) {
    Value deviation = op.emit.unary<RsqrtOp>(op.emit.add(normalized.variance, op.floatAttr("epsilon", 1e-5)));
    op.define(2, Binding::computed(op.emit.cast(op.emit.reshape(deviation, kept), stash)));
  }
  return op.result(y);
}

// x / sqrt(mean(x^2) + epsilon) * scale
LogicalResult importRMSNormalization(OpContext &op) {
  Value x = op.value(0);
  auto first = op.axis(op.intAttr("axis", -1), rankOf(x));
  if (failed(first) || failed(op.expectFloat(x)) || failed(expectParts(op, x)))
    return failure();
  Value square = op.emit.mean(op.emit.mul(x, x), trailingDims(x, *first), /*keepDims=*/true);
  Value factor = op.emit.unary<RsqrtOp>(op.emit.add(square, op.floatAttr("epsilon", 1e-5)));
  return op.result(op.emit.mul(op.emit.mul(x, factor), op.value(1)));
}

// Scale and bias must have one number for each entry of dimension 1.
LogicalResult scaleChannels(OpContext &op, Value y, Value scale, Value bias) {
  for (Value v : {scale, bias})
    if (shapeOf(v) != llvm::ArrayRef<int64_t>{shapeOf(y)[1]} || elementOf(v) != elementOf(y))
      return op.fail("scale and bias must have shape [" + llvm::Twine(shapeOf(y)[1]) + "]; got " +
                     formatShape(shapeOf(v)));
  y = op.emit.mul(y, op.emit.broadcastDims(scale, shapeOf(y), {1}));
  return op.result(op.emit.add(y, op.emit.broadcastDims(bias, shapeOf(y), {1})));
}

LogicalResult importInstanceNormalization(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 8)))
    return failure();
  auto normalized = op.emit.normalize(x, trailingDims(x, 2), op.floatAttr("epsilon", 1e-5));
  return scaleChannels(op, normalized.result, op.value(1), op.value(2));
}

LogicalResult importGroupNormalization(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 2, 8)))
    return failure();
  int64_t groups = op.intAttr("num_groups", 0), channels = shapeOf(x)[1];
  if (groups < 1 || channels % groups != 0)
    return op.fail("`num_groups` " + llvm::Twine(groups) + " must divide the " + llvm::Twine(channels) + " channels");
  Shape shape(shapeOf(x));
  Value grouped = op.emit.reshape(
      x, {shape[0], groups, channels / groups, *countElements(llvm::ArrayRef<int64_t>(shape).drop_front(2))});
  auto normalized = op.emit.normalize(grouped, {2, 3}, op.floatAttr("epsilon", 1e-5));
  Value y = op.emit.reshape(normalized.result, shape);
  Value scale = op.value(1), bias = op.value(2);
  // Before opset 21 there is one scale for each group, since then one for each channel.
  auto perChannel = [&](Value v) {
    bool perGroup = op.opset() < 21 && shapeOf(v) == llvm::ArrayRef<int64_t>{groups} && groups != channels;
    return perGroup ? op.emit.reshape(op.emit.broadcastDims(v, {groups, channels / groups}, {0}), {channels}) : v;
  };
  return scaleChannels(op, y, perChannel(scale), perChannel(bias));
}

LogicalResult importLpNormalization(OpContext &op) {
  Value x = op.value(0);
  auto dim = op.axis(op.intAttr("axis", -1), rankOf(x));
  int64_t p = op.intAttr("p", 2);
  if (failed(dim) || failed(op.expectFloat(x)))
    return failure();
  if (p != 1 && p != 2)
    return op.fail("`p` must be 1 or 2; got " + llvm::Twine(p));
  Value terms = p == 1 ? op.emit.unary<AbsOp>(x) : op.emit.mul(x, x);
  Value norm = op.emit.reduce(ReduceKind::Sum, terms, {*dim}, /*keepDims=*/true);
  norm = p == 1 ? norm : op.emit.norm(norm);
  // A vector of zeros stays zero, and has no gradient.
  Value zero = op.emit.compare(Predicate::Eq, norm, 0.0);
  Value divisor = op.emit.select(zero, op.emit.splat(1, typeOf(norm)), norm);
  return op.result(op.emit.select(zero, op.emit.splat(0, typeOf(x)), op.emit.div(x, divisor)));
}

// (x - mean) / (deviation + 1e-9). The addend prevents a division by zero for a constant input, and is negligible
// otherwise.
LogicalResult importMeanVarianceNormalization(OpContext &op) {
  Value x = op.value(0);
  auto dims = op.axes(op.intsAttr("axes").value_or(Shape{0, 2, 3}), rankOf(x));
  if (failed(dims) || failed(op.expectFloat(x)))
    return failure();
  Value centered = op.emit.sub(x, op.emit.mean(x, *dims, /*keepDims=*/true));
  Value deviation = op.emit.norm(op.emit.mean(op.emit.mul(centered, centered), *dims, /*keepDims=*/true));
  return op.result(op.emit.div(centered, op.emit.add(deviation, 1e-9)));
}

// For each channel, returns the sum of the channel, `low` channels before it and `high` after it.
Value sumOfSlices(Emitter &emit, Value x, int64_t low, int64_t high) {
  Shape before(rankOf(x), 0), behind(rankOf(x), 0);
  before[1] = low, behind[1] = high;
  Value padded = emit.pad(x, before, behind, 0), sum;
  for (int64_t i = 0; i <= low + high; ++i) {
    Value part = emit.sliceDim(padded, 1, i, shapeOf(x)[1]);
    sum = sum ? emit.add(sum, part) : part;
  }
  return sum;
}

// As sumOfSlices(), for wide windows: the code does not grow with the window.
Value sumOfSelected(Emitter &emit, Value x, int64_t low, int64_t high) {
  Shape all(shapeOf(x)), dims;
  all.insert(all.begin() + 1, all[1]); // dim 1: the channel; dim 2: the channels that it sums
  for (int64_t i = 0; i < rankOf(x); ++i)
    dims.push_back(i < 1 ? i : i + 1);
  auto indices = RankedTensorType::get(all, emit.i64());
  Value distance = emit.sub(emit.iota(2, indices), emit.iota(1, indices));
  Value inside = emit.binary<AndOp>(emit.compare(Predicate::Ge, distance, -double(low)),
                                    emit.compare(Predicate::Le, distance, double(high)));
  Value spread = emit.broadcastDims(x, all, dims);
  return emit.reduce(ReduceKind::Sum, emit.select(inside, spread, emit.splat(0, typeOf(spread))), {2});
}

// x / (bias + alpha / size * sum of squares of the neighboring channels)^beta
LogicalResult importLRN(OpContext &op) {
  Value x = op.value(0);
  int64_t size = op.intAttr("size", 0);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 8)))
    return failure();
  if (size < 1)
    return op.fail("`size` must be at least 1; got " + llvm::Twine(size));
  int64_t low = std::min((size - 1) / 2, shapeOf(x)[1]), high = std::min(size / 2, shapeOf(x)[1]);
  Value squares = op.emit.mul(x, x);
  Value sum = size <= 64 ? sumOfSlices(op.emit, squares, low, high) : sumOfSelected(op.emit, squares, low, high);
  Value base = op.emit.add(op.emit.mul(sum, op.floatAttr("alpha", 1e-4) / double(size)), op.floatAttr("bias", 1));
  return op.result(op.emit.div(x, op.emit.binary<PowOp>(base, op.floatAttr("beta", 0.75))));
}

} // namespace

void cleave::onnx_import::addNormalizationOperators(OperatorTable &table) {
  table.add("LayerNormalization", 17, inF32<importLayerNormalization>);
  table.add("RMSNormalization", 23, inF32<importRMSNormalization>);
  table.add("InstanceNormalization", 13, inF32<importInstanceNormalization>);
  table.add("GroupNormalization", 18, inF32<importGroupNormalization>);
  table.add("LpNormalization", 13, inF32<importLpNormalization>);
  table.add("MeanVarianceNormalization", 13, inF32<importMeanVarianceNormalization>);
  table.add("LRN", 13, inF32<importLRN>);
}
