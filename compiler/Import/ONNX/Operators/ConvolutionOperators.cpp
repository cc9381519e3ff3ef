// Imports Conv, in one to three spatial dimensions.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Windows.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// True if the bias is known to be zero. The exporter writes explicit zeros for a convolution without a bias.
bool isZero(Emitter &emit, const Literal *literal) {
  if (!literal || !(literal->isSplat() || literal->numElements() <= Literal::kMaxElements) ||
      !emit.budget.draw(Budget::Kind::Work, literal->bytes().size()))
    return false;
  for (int64_t i = 0, n = literal->isSplat() ? 1 : literal->numElements(); i < n; ++i)
    if (literal->asReal(i) != 0)
      return false;
  return true;
}

LogicalResult checkShapes(OpContext &op, Value x, Value w, int64_t groups) {
  llvm::ArrayRef<int64_t> in = shapeOf(x), filter = shapeOf(w);
  if (filter.size() != in.size() || elementOf(x) != elementOf(w))
    return op.fail("the filter " + formatShape(filter) + " must have the rank and element type of the input " +
                   formatShape(in));
  if (groups < 1 || in[1] % groups != 0 || filter[0] % groups != 0 || filter[1] != in[1] / groups)
    return op.fail("the filter " + formatShape(filter) + " does not fit an input of " + llvm::Twine(in[1]) +
                   " channels in " + llvm::Twine(groups) + " groups");
  return success();
}

LogicalResult importConv(OpContext &op) {
  Value x = op.value(0), w = op.value(1);
  int64_t groups = op.intAttr("group", 1);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 5)) || failed(checkShapes(op, x, w, groups)))
    return failure();
  Shape kernel(shapeOf(w).drop_front(2));
  if (op.intsAttr("kernel_shape").value_or(kernel) != kernel)
    return op.fail("`kernel_shape` differs from the filter " + formatShape(shapeOf(w)));
  auto windows = readWindows(op, shapeOf(x), kernel);
  if (failed(windows))
    return failure();
  Shape shape{shapeOf(x)[0], shapeOf(w)[0]};
  shape.append(windows->output);
  mlir::OpBuilder &b = op.emit.builder;
  auto type = typeOf(x).clone(shape);
  // If the input has no elements, all windows are in the padding, and their sums are 0.
  Value y = isEmpty(x) || isEmpty(w)
                ? op.emit.splat(0, type)
                : op.emit.make<ConvolutionOp>(type, x, w, b.getDenseI64ArrayAttr(windows->strides),
                                              b.getDenseI64ArrayAttr(windows->dilations),
                                              b.getDenseI64ArrayAttr(windows->padLow),
                                              b.getDenseI64ArrayAttr(windows->padHigh), b.getI64IntegerAttr(groups));
  if (!op.has(2))
    return op.result(y);
  const Literal *known = op.literal(2);
  llvm::ArrayRef<int64_t> given = known ? known->shape() : shapeOf(op.value(2));
  if (given != llvm::ArrayRef<int64_t>{shape[1]})
    return op.fail("the bias must have shape [" + llvm::Twine(shape[1]) + "]; got " + formatShape(given));
  if (isZero(op.emit, known))
    return op.result(y);
  return op.result(op.emit.add(y, op.emit.broadcastDims(op.value(2), shape, {1})));
}

} // namespace

void cleave::onnx_import::addConvolutionOperators(OperatorTable &table) { table.add("Conv", 13, importConv); }
