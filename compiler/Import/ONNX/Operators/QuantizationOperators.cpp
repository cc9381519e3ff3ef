// Imports QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and products of quantized numbers.
//
//   y = saturate(round(x / scale) + zero point)        x = (y - zero point) * scale
//
// A scale is for a whole tensor, for each slice of an axis, or for each block of an axis. The sums of the integers are
// exact. A product of two is below 2^16, so f32 can represent sums of 256 products, and f64 those of any tensor.
#include "compiler/Import/ONNX/Operators/QuantizationOperators.h"
#include "compiler/Import/ONNX/Operators/Contraction.h"
#include "compiler/Import/ONNX/Operators/Windows.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

// Broadcasts a scale or zero point to the shape of `x`.
FailureOr<Value> spreadOver(OpContext &op, Value parameter, Value x) {
  Emitter &emit = op.emit;
  Shape shape(shapeOf(x)), given(shapeOf(parameter));
  if (typeOf(parameter).getNumElements() == 1)
    return emit.broadcastTo(emit.reshape(parameter, {}), shape);
  auto dim = op.axis(op.intAttr("axis", 1), int64_t(shape.size()));
  if (failed(dim))
    return failure();
  if (given.size() == 1 && given[0] == shape[*dim])
    return emit.broadcastDims(parameter, shape, {*dim});
  // A block may be larger than the axis, which is then one block.
  int64_t block = std::min(op.intAttr("block_size", 0), std::max<int64_t>(shape[*dim], 1));
  Shape expected = shape;
  if (block > 0)
    expected[*dim] = (shape[*dim] + block - 1) / block;
  else
    expected.clear(); // no shape is expected
  if (given != expected)
    return op.fail("a scale or zero point of shape " + formatShape(given) + " does not fit an input " +
                   formatShape(shape) + ": expected one number, one for each slice of axis " + llvm::Twine(*dim) +
                   ", or one for each block of `block_size`");
  Shape dims, spread = given;
  spread.insert(spread.begin() + *dim + 1, block);
  for (int64_t i = 0; i < int64_t(given.size()); ++i)
    dims.push_back(i <= *dim ? i : i + 1);
  given[*dim] *= block;
  return emit.sliceDim(emit.reshape(emit.broadcastDims(parameter, spread, dims), given), *dim, 0, shape[*dim]);
}

struct Range {
  double low, high;
};
Range rangeOf(mlir::Type element) {
  if (element.isUnsignedInteger())
    return {0, 255};
  return element.isInteger(8) ? Range{-128, 127} : Range{-32768, 32767};
}

// 8-bit and 16-bit integers are exact in f32. 32-bit integers are rounded, as by any cast.
Value asF32(Emitter &emit, Value x) { return emit.cast(x, emit.builder.getF32Type()); }

// `zero` has the result's type, or is null. `precision` is the type of the quotient.
FailureOr<Value> quantized(OpContext &op, Value x, Value scale, Value zero, mlir::Type element, mlir::Type precision) {
  Emitter &emit = op.emit;
  Range range = rangeOf(element);
  x = emit.cast(x, precision);
  auto scales = spreadOver(op, emit.cast(scale, precision), x);
  if (failed(scales))
    return failure();
  Value y = asF32(emit, emit.unary<RoundOp>(emit.div(x, *scales)));
  if (zero) {
    auto zeros = spreadOver(op, asF32(emit, zero), x);
    if (failed(zeros))
      return failure();
    y = emit.add(y, *zeros);
  }
  return emit.cast(emit.atMost(emit.atLeast(y, range.low), range.high), element);
}

LogicalResult importQuantizeLinear(OpContext &op) {
  Value zero = op.value(2);
  mlir::Type element = zero ? elementOf(zero) : op.emit.builder.getIntegerType(8, /*isSigned=*/false);
  int64_t dtype = op.intAttr("output_dtype", 0), precision = op.intAttr("precision", 0);
  if (dtype && zero && elementTypeOf(op.emit.context(), int(dtype)) != element)
    return op.fail("`output_dtype` " + dataTypeName(int(dtype)) + " is not the type of the zero point");
  if (dtype)
    element = elementTypeOf(op.emit.context(), int(dtype));
  // The default is f32, as in onnxruntime. It is at least as precise as the scale's type.
  mlir::Type quotient = elementTypeOf(op.emit.context(), precision ? int(precision) : int(onnx::TensorProto::FLOAT));
  if (!quotient || !llvm::isa<mlir::FloatType>(quotient))
    return op.fail("`precision` " + dataTypeName(int(precision)) + " is not supported; expected a floating-point type");
  if (!element || llvm::isa<mlir::FloatType>(element) || element.getIntOrFloatBitWidth() > 16 || element.isInteger(1))
    return op.fail("the result's type is not supported; expected uint8, int8 or int16");
  auto y = quantized(op, op.value(0), op.value(1), zero, element, quotient);
  return failed(y) ? failure() : op.result(*y);
}

// Subtracts the zero point from the integers. The result is i32 for 32-bit integers, otherwise f32.
FailureOr<Value> centered(OpContext &op, Value x, Value zero) {
  Emitter &emit = op.emit;
  auto widened = [&](Value value) { return elementOf(value).isInteger(32) ? value : asF32(emit, value); };
  if (!zero)
    return widened(x);
  auto zeros = spreadOver(op, widened(zero), x);
  return failed(zeros) ? FailureOr<Value>(failure()) : FailureOr<Value>(emit.sub(widened(x), *zeros));
}

LogicalResult importDequantizeLinear(OpContext &op) {
  Value x = op.value(0), scale = op.value(1);
  mlir::Type element = elementOf(scale);
  if (int64_t dtype = op.intAttr("output_dtype", 0))
    element = elementTypeOf(op.emit.context(), int(dtype));
  auto steps = centered(op, x, op.value(2));
  auto scales = spreadOver(op, asF32(op.emit, scale), x);
  if (failed(steps) || failed(scales))
    return failure();
  if (!element || !llvm::isa<mlir::FloatType>(element))
    return op.fail("`output_dtype` is not supported; expected a floating-point type");
  return op.result(op.emit.cast(op.emit.mul(asF32(op.emit, *steps), *scales), element));
}

// The scale and the zero point come from the tensor's own range, extended to contain 0.
LogicalResult importDynamicQuantizeLinear(OpContext &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  if (isEmpty(x))
    return op.fail("a tensor without elements has no range");
  Shape all(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))));
  Value low = emit.atMost(emit.reduce(ReduceKind::Min, x, all), 0.0);
  Value high = emit.atLeast(emit.reduce(ReduceKind::Max, x, all), 0.0);
  Value width = emit.sub(high, low), isNone = emit.compare(Predicate::Eq, width, 0.0);
  Value scale = emit.select(isNone, emit.splat(1, typeOf(width)), emit.div(width, 255.0));
  mlir::Type byte = emit.builder.getIntegerType(8, /*isSigned=*/false);
  Value zero = emit.unary<RoundOp>(emit.atMost(emit.atLeast(emit.div(emit.neg(low), scale), 0.0), 255.0));
  zero = emit.cast(zero, byte);
  auto y = quantized(op, x, scale, zero, byte, emit.builder.getF32Type());
  if (failed(y))
    return failure();
  (void)op.result(1, scale);
  (void)op.result(2, zero);
  return op.result(*y);
}

// ---- products of integers

// Returns the integers minus their zero point, in a type that can represent sums of `terms` products of two of them.
FailureOr<Value> factor(OpContext &op, size_t input, size_t zeroInput, llvm::ArrayRef<int64_t> zeroShape,
                        int64_t terms) {
  Emitter &emit = op.emit;
  mlir::Type wide = terms <= 256 ? mlir::Type(emit.builder.getF32Type()) : emit.builder.getF64Type();
  Value x = emit.cast(op.value(input), wide);
  if (!op.has(zeroInput))
    return x;
  Value zero = op.value(zeroInput);
  if (typeOf(zero).getNumElements() == 1)
    zero = emit.reshape(zero, {});
  else if (rankOf(zero) == 1 && *countElements(zeroShape) == shapeOf(zero)[0])
    zero = emit.reshape(zero, zeroShape);
  if (broadcastShapes(shapeOf(x), shapeOf(zero)) != Shape(shapeOf(x)))
    return op.fail("the zero point of shape " + formatShape(shapeOf(zero)) + " does not fit an input " +
                   formatShape(shapeOf(x)));
  return emit.sub(x, emit.cast(zero, wide));
}

// Multiplies [..., m, k] by [..., k, n]. `zeroA` and `zeroB` are the inputs with the zero points.
FailureOr<Value> integerMatMul(OpContext &op, size_t a, size_t zeroA, size_t b, size_t zeroB) {
  llvm::ArrayRef<int64_t> x = shapeOf(op.value(a)), y = shapeOf(op.value(b));
  if (x.empty() || y.empty())
    return op.fail("expected inputs of rank 1 or more");
  Shape rows{x.size() > 1 ? x[x.size() - 2] : 1, 1}, columns{y.back()};
  auto left = factor(op, a, zeroA, rows, x.back()), right = factor(op, b, zeroB, columns, x.back());
  return failed(left) || failed(right) ? FailureOr<Value>(failure()) : emitMatMul(op, *left, *right);
}

LogicalResult importMatMulInteger(OpContext &op) {
  auto product = integerMatMul(op, 0, 2, 1, 3);
  return failed(product) ? failure() : op.result(op.emit.cast(*product, op.emit.builder.getI32Type()));
}

// Converts sums of products, whose scale is scaleA * scaleB, to integers with the scale scaleY and the zero point
// zeroY.
LogicalResult requantize(OpContext &op, Value sums, Value scaleA, Value scaleB, Value scaleY, Value zeroY) {
  Emitter &emit = op.emit;
  Range range = rangeOf(elementOf(zeroY));
  auto number = [&](Value value) { return asF32(emit, emit.reshape(value, {})); };
  if (typeOf(scaleA).getNumElements() != 1 || typeOf(scaleY).getNumElements() != 1 ||
      typeOf(zeroY).getNumElements() != 1)
    return op.fail("the scales of the first input and of the result, and its zero point, must be one number each");
  Value scale = emit.div(emit.mul(number(scaleA), asF32(emit, scaleB)), number(scaleY));
  Value y = emit.unary<RoundOp>(emit.mul(asF32(emit, sums), emit.broadcastTo(scale, shapeOf(sums))));
  y = emit.add(y, emit.broadcastTo(number(zeroY), shapeOf(y)));
  return op.result(emit.cast(emit.atMost(emit.atLeast(y, range.low), range.high), elementOf(zeroY)));
}

LogicalResult importQLinearMatMul(OpContext &op) {
  auto sums = integerMatMul(op, 0, 2, 3, 5);
  if (failed(sums))
    return failure();
  Value scaleB = op.value(4);
  if (typeOf(scaleB).getNumElements() == 1)
    scaleB = op.emit.reshape(scaleB, {});
  if (broadcastShapes(shapeOf(*sums), shapeOf(scaleB)) != Shape(shapeOf(*sums)))
    return op.fail("the scale of shape " + formatShape(shapeOf(scaleB)) + " does not fit a product " +
                   formatShape(shapeOf(*sums)));
  return requantize(op, *sums, op.value(1), scaleB, op.value(6), op.value(7));
}

// Padding has the value of the zero point. So it is added as 0 after the zero point has been subtracted.
FailureOr<Value> integerConvolution(OpContext &op, size_t x, size_t zeroX, size_t w, size_t zeroW) {
  if (failed(op.expectRank(op.value(x), 3, 5)))
    return failure();
  Shape in(shapeOf(op.value(x))), filter(shapeOf(op.value(w))), channels(filter.size(), 1), kernel;
  int64_t groups = op.intAttr("group", 1);
  if (filter.size() != in.size() || groups < 1 || in[1] % groups != 0 || filter[0] % groups != 0 ||
      filter[1] != in[1] / groups || llvm::is_contained(filter, 0) || llvm::is_contained(in, 0))
    return op.fail("the filter " + formatShape(filter) + " does not fit an input " + formatShape(in) + " in " +
                   llvm::Twine(groups) + " groups");
  kernel.append(filter.begin() + 2, filter.end());
  channels[0] = filter[0];
  int64_t terms = *countElements(llvm::ArrayRef<int64_t>(filter).drop_front(1));
  auto left = factor(op, x, zeroX, {}, terms), right = factor(op, w, zeroW, channels, terms);
  auto windows = readWindows(op, in, kernel);
  if (failed(left) || failed(right) || failed(windows))
    return failure();
  Shape shape{in[0], filter[0]};
  shape.append(windows->output);
  mlir::OpBuilder &b = op.emit.builder;
  return op.emit.make<ConvolutionOp>(
      typeOf(*left).clone(shape), *left, *right, b.getDenseI64ArrayAttr(windows->strides),
      b.getDenseI64ArrayAttr(windows->dilations), b.getDenseI64ArrayAttr(windows->padLow),
      b.getDenseI64ArrayAttr(windows->padHigh), b.getI64IntegerAttr(groups));
}

LogicalResult importConvInteger(OpContext &op) {
  auto sums = integerConvolution(op, 0, 2, 1, 3);
  return failed(sums) ? failure() : op.result(op.emit.cast(*sums, op.emit.builder.getI32Type()));
}

LogicalResult importQLinearConv(OpContext &op) {
  Emitter &emit = op.emit;
  auto sums = integerConvolution(op, 0, 2, 3, 5);
  if (failed(sums))
    return failure();
  Shape channels{shapeOf(*sums)[1]};
  auto ofChannels = [&](Value value) {
    return typeOf(value).getNumElements() == 1 ? emit.broadcastTo(emit.reshape(value, {}), shapeOf(*sums))
                                               : emit.broadcastDims(value, shapeOf(*sums), {1});
  };
  Value scale = op.value(4), bias = op.value(8);
  if ((typeOf(scale).getNumElements() != 1 && shapeOf(scale) != llvm::ArrayRef<int64_t>(channels)) ||
      (bias && shapeOf(bias) != llvm::ArrayRef<int64_t>(channels)))
    return op.fail("the filter's scale and the bias must have one number for each of " + llvm::Twine(channels[0]) +
                   " channels");
  Value total = bias ? emit.add(*sums, emit.cast(ofChannels(bias), elementOf(*sums))) : *sums;
  return requantize(op, total, op.value(1), ofChannels(scale), op.value(6), op.value(7));
}

} // namespace

void cleave::onnx_import::addQuantizationOperators(OperatorTable &table) {
  table.add("QuantizeLinear", 13, importQuantizeLinear);
  table.add("DequantizeLinear", 13, importDequantizeLinear);
  table.add("DynamicQuantizeLinear", 13, importDynamicQuantizeLinear);
  table.add("MatMulInteger", 13, importMatMulInteger);
  table.add("QLinearMatMul", 13, importQLinearMatMul);
  table.add("ConvInteger", 13, importConvInteger);
  table.add("QLinearConv", 13, importQLinearConv);
}
