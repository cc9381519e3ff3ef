// Pools over windows, over everything, and global ones.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Windows.h"

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

LogicalResult importMaxPool(OpContext &op) {
  Value x = op.value(0);
  if (op.wants(1))
    return op.fail("the second output (indices) is not supported");
  auto w = poolWindows(op, x);
  if (failed(w))
    return failure();
  mlir::OpBuilder &b = op.emit.builder;
  return op.result(op.emit.make<MaxPoolOp>(pooledType(x, *w), x, b.getDenseI64ArrayAttr(w->kernel),
                                           b.getDenseI64ArrayAttr(w->strides), b.getDenseI64ArrayAttr(w->dilations),
                                           b.getDenseI64ArrayAttr(w->padLow), b.getDenseI64ArrayAttr(w->padHigh)));
}

LogicalResult importAveragePool(OpContext &op) {
  Value x = op.value(0);
  auto w = poolWindows(op, x);
  if (failed(w))
    return failure();
  bool countPad = op.intAttr("count_include_pad", 0) != 0;
  // Padding counts, but not the part of a window past it, which ceil_mode adds: the padding becomes elements, 0.
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

} // namespace

void cleave::onnx_import::addPoolingOperators(OperatorTable &table) {
  table.add("MaxPool", 13, importMaxPool);
  table.add("AveragePool", 13, importAveragePool);
  table.add("GlobalAveragePool", 13, inF32<importGlobalAveragePool>);
  table.add("GlobalMaxPool", 13, importGlobalMaxPool);
}
