// Imports pools over windows, and global pools.
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Windows.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

llvm::FailureOr<Windows> poolWindows(OpContext &op, Value x) {
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 5)))
    return failure();
  return readWindows(op, shapeOf(x), op.intsAttr("kernel_shape").value_or(Shape()));
}

RankedTensorType pooledType(Value x, const Windows &windows) {
  Shape shape{shapeOf(x)[0], shapeOf(x)[1]};
  shape.append(windows.output);
  return typeOf(x).clone(shape);
}

// Returns the position of the largest element of each window, counted through all of `x`. Of equal elements, the first
// one counts. The windows are laid out side by side by gathering rows and columns at known positions; padding is -inf.
Value maxIndices(OpContext &op, Value x, const Windows &w) {
  Emitter &emit = op.emit;
  bool isColumnMajor = op.intAttr("storage_order", 0) != 0;
  int64_t dims = int64_t(w.kernel.size());
  Shape low{0, 0}, high{0, 0}, sizes(shapeOf(x));
  low.append(w.padLow), high.append(w.padHigh);
  Value spread = emit.pad(x, low, high, -INFINITY);
  for (int64_t dim = dims; dim-- > 0;) { // [n, c, ..., windows, kernel, ...]
    auto type = RankedTensorType::get({w.output[dim], w.kernel[dim]}, emit.i64());
    Value places = emit.add(emit.mul(emit.iota(0, type), double(w.strides[dim])),
                            emit.mul(emit.iota(1, type), double(w.dilations[dim])));
    spread = take(emit, spread, places, 2 + dim);
  }
  Shape order{0, 1}, result(pooledType(x, w).getShape()), flat = result;
  for (int64_t part : {0, 1})
    for (int64_t dim = 0; dim < dims; ++dim)
      order.push_back(2 + 2 * dim + part);
  flat.push_back(*countElements(w.kernel));
  spread = emit.reshape(emit.transpose(spread, order), flat);
  auto type = RankedTensorType::get(result, emit.i64());
  Value place = emit.make<ArgMaxOp>(type, spread, emit.builder.getI64IntegerAttr(2 + dims)), index;
  // Splits the position in the window into its dimensions, the last one first.
  llvm::SmallVector<Value> positions(static_cast<size_t>(dims));
  for (int64_t dim = dims; dim-- > 0; place = emit.div(place, double(w.kernel[dim]))) {
    Value inWindow = emit.mul(emit.binary<RemOp>(place, double(w.kernel[dim])), double(w.dilations[dim]));
    Value begin = emit.add(emit.mul(emit.iota(2 + dim, type), double(w.strides[dim])), -double(w.padLow[dim]));
    // If all elements are -inf, the first one may be in the padding. Then the nearest element of the input counts.
    positions[size_t(dim)] = emit.atMost(emit.atLeast(emit.add(begin, inWindow), 0.0), double(sizes[2 + dim] - 1));
  }
  index = emit.add(emit.mul(emit.iota(0, type), double(sizes[1])), emit.iota(1, type));
  for (int64_t i = 0; i < dims; ++i) {
    int64_t dim = isColumnMajor ? dims - 1 - i : i;
    index = emit.add(emit.mul(index, double(sizes[2 + dim])), positions[size_t(dim)]);
  }
  return index;
}

LogicalResult importMaxPool(OpContext &op) {
  Value x = op.value(0);
  mlir::Type element = elementOf(x);
  if (element.isInteger(8)) // quantized models; f32 represents all such numbers
    x = op.emit.cast(x, op.emit.builder.getF32Type());
  auto w = poolWindows(op, x);
  if (failed(w))
    return failure();
  if (op.wants(1)) {
    Shape padded(shapeOf(x));
    for (size_t dim = 0; dim < w->kernel.size(); ++dim)
      padded[dim + 2] += w->padLow[dim] + w->padHigh[dim];
    Shape windows(pooledType(x, *w).getShape());
    windows.append(w->kernel);
    if (isEmpty(x) || !countElements(windows) || !countElements(padded))
      return op.fail("indices of windows " + formatShape(w->kernel) + " of an input " + formatShape(shapeOf(x)) +
                     " have no elements, or too many");
    op.define(1, Binding::computed(maxIndices(op, x, *w)));
  }
  mlir::OpBuilder &b = op.emit.builder;
  Value y = op.emit.make<MaxPoolOp>(pooledType(x, *w), x, b.getDenseI64ArrayAttr(w->kernel),
                                    b.getDenseI64ArrayAttr(w->strides), b.getDenseI64ArrayAttr(w->dilations),
                                    b.getDenseI64ArrayAttr(w->padLow), b.getDenseI64ArrayAttr(w->padHigh));
  return op.result(op.emit.cast(y, element));
}

LogicalResult importAveragePool(OpContext &op) {
  Value x = op.value(0);
  auto w = poolWindows(op, x);
  if (failed(w))
    return failure();
  bool countPad = op.intAttr("count_include_pad", 0) != 0;
  // Padding counts here, but not the part of a window beyond it, which ceil_mode adds. So the padding becomes elements
  // of value 0.
  if (countPad && op.intAttr("ceil_mode", 0) != 0) {
    Shape low(2, 0), high(2, 0);
    for (size_t i = 0; i < w->kernel.size(); ++i) {
      low.push_back(w->padLow[i]);
      high.push_back(w->padHigh[i] - w->beyond[i]);
    }
    x = op.emit.pad(x, low, high, 0);
    w->padLow = Shape(w->kernel.size(), 0), w->padHigh = w->beyond;
    countPad = false;
  }
  mlir::OpBuilder &b = op.emit.builder;
  return op.result(op.emit.make<AvgPoolOp>(pooledType(x, *w), x, countPad ? b.getUnitAttr() : mlir::UnitAttr(),
                                           b.getDenseI64ArrayAttr(w->kernel), b.getDenseI64ArrayAttr(w->strides),
                                           b.getDenseI64ArrayAttr(w->dilations), b.getDenseI64ArrayAttr(w->padLow),
                                           b.getDenseI64ArrayAttr(w->padHigh)));
}

// raised() returns |x|^p, and root() the p-th root of a sum. Both have the gradient 0 at 0, where the root has none.
Value raised(Emitter &emit, Value x, int64_t p) {
  if (p == 2)
    return emit.mul(x, x);
  Value size = emit.unary<AbsOp>(x);
  return p == 1 ? size : emit.binary<PowOp>(size, double(p));
}
Value root(Emitter &emit, Value sum, int64_t p) {
  if (p == 1)
    return sum;
  if (p == 2)
    return emit.norm(sum);
  Value isZero = emit.compare(Predicate::Eq, sum, 0.0), zero = emit.splat(0, typeOf(sum));
  Value safe = emit.select(isZero, emit.splat(1, typeOf(sum)), sum);
  return emit.select(isZero, zero, emit.binary<PowOp>(safe, 1 / double(p)));
}

llvm::FailureOr<int64_t> exponent(OpContext &op) {
  int64_t p = op.intAttr("p", 2);
  if (p < 1 || p > 1024)
    return op.fail("`p` must be between 1 and 1024; got " + llvm::Twine(p));
  return p;
}

// The sum over a window is its average times the number of its elements.
LogicalResult importLpPool(OpContext &op) {
  Value x = op.value(0);
  auto w = poolWindows(op, x);
  auto p = exponent(op);
  if (failed(w) || failed(p))
    return failure();
  Emitter &emit = op.emit;
  mlir::OpBuilder &b = emit.builder;
  Value average =
      emit.make<AvgPoolOp>(pooledType(x, *w), raised(emit, x, *p), b.getUnitAttr(), b.getDenseI64ArrayAttr(w->kernel),
                           b.getDenseI64ArrayAttr(w->strides), b.getDenseI64ArrayAttr(w->dilations),
                           b.getDenseI64ArrayAttr(w->padLow), b.getDenseI64ArrayAttr(w->padHigh));
  return op.result(root(emit, emit.mul(average, double(*countElements(w->kernel))), *p));
}

Shape spatialDims(Value x) { return Shape(llvm::to_vector(llvm::seq<int64_t>(2, rankOf(x)))); }

LogicalResult importGlobalAveragePool(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 8)))
    return failure();
  return op.result(op.emit.mean(x, spatialDims(x), /*keepDims=*/true));
}

LogicalResult importGlobalMaxPool(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 8)))
    return failure();
  return op.result(op.emit.reduce(ReduceKind::Max, x, spatialDims(x), /*keepDims=*/true));
}

LogicalResult importGlobalLpPool(OpContext &op) {
  Value x = op.value(0);
  auto p = exponent(op);
  if (failed(p) || failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 8)))
    return failure();
  Value sum = op.emit.reduce(ReduceKind::Sum, raised(op.emit, x, *p), spatialDims(x), /*keepDims=*/true);
  return op.result(root(op.emit, sum, *p));
}

} // namespace

void cleave::onnx_import::addPoolingOperators(OperatorTable &table) {
  table.add("MaxPool", 13, importMaxPool);
  table.add("AveragePool", 13, importAveragePool);
  table.add("GlobalAveragePool", 13, inF32<importGlobalAveragePool>);
  table.add("GlobalMaxPool", 13, importGlobalMaxPool);
  table.add("LpPool", 13, inF32<importLpPool>);
  table.add("GlobalLpPool", 13, inF32<importGlobalLpPool>);
}
