// Imports ConvTranspose, the gradient of a convolution with respect to its input. The filter [ic, oc/groups, kernel...]
// is that of the convolution in the opposite direction.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/ScatterOperators.h"
#include "compiler/Import/ONNX/Operators/Windows.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

LogicalResult checkShapes(OpContext &op, Value x, Value w, int64_t groups) {
  llvm::ArrayRef<int64_t> in = shapeOf(x), filter = shapeOf(w);
  if (filter.size() != in.size() || elementOf(x) != elementOf(w))
    return op.fail("the filter " + formatShape(filter) + " must have the rank and element type of the input " +
                   formatShape(in));
  if (groups < 1 || groups > in[1] || in[1] % groups != 0 || filter[0] != in[1])
    return op.fail("the filter " + formatShape(filter) + " does not fit an input of " + llvm::Twine(in[1]) +
                   " channels in " + llvm::Twine(groups) + " groups");
  if (llvm::is_contained(filter, 0) || llvm::is_contained(in, 0) || !countElements({groups, filter[1]}))
    return op.fail("input " + formatShape(in) + " and filter " + formatShape(filter) + " must have elements");
  return success();
}

// Splits the part that must be cut off. If it is odd, the end loses one more with SAME_UPPER, otherwise the beginning.
void splitPadding(TransposedWindows &windows, llvm::ArrayRef<int64_t> output, bool upper) {
  for (size_t i = 0; i < output.size(); ++i) {
    int64_t total = std::max<int64_t>(windows.covered[i] + windows.outputPadding[i] - output[i], 0);
    windows.padLow[i] = upper ? total / 2 : total - total / 2;
    windows.padHigh[i] = total - windows.padLow[i];
  }
}

// Returns the spatial sizes of the result, and sets the padding that gives them.
FailureOr<Shape> outputSizes(OpContext &op, TransposedWindows &windows, llvm::ArrayRef<int64_t> input) {
  std::string automatic = op.stringAttr("auto_pad", "NOTSET");
  bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!isSame && automatic != "NOTSET" && automatic != "VALID" && !automatic.empty())
    return op.fail("auto_pad " + quote(automatic) + " is not known");
  size_t dims = input.size();
  if (automatic == "VALID")
    windows.padLow = windows.padHigh = Shape(dims, 0);
  Shape output;
  if (auto given = op.intsAttr("output_shape")) {
    output = *given;
    if (output.size() == dims + 2) // some files give the batch and the channels, too
      output.erase(output.begin(), output.begin() + 2);
    if (output.size() != dims)
      return op.fail("`output_shape` must have " + llvm::Twine(dims) + " numbers; got " + formatShape(*given));
  } else if (isSame) {
    for (size_t i = 0; i < dims; ++i)
      output.push_back(input[i] * windows.strides[i]);
  } else {
    for (size_t i = 0; i < dims; ++i)
      output.push_back(windows.covered[i] + windows.outputPadding[i] - windows.padLow[i] - windows.padHigh[i]);
  }
  constexpr int64_t limit = int64_t(1) << 31;
  if (llvm::any_of(output, [](int64_t size) { return size < 1 || size > limit; }))
    return op.fail("the result's spatial sizes " + formatShape(output) + " must be at least 1 and below 2^31");
  if (op.intsAttr("output_shape") || isSame)
    splitPadding(windows, output, automatic == "SAME_UPPER");
  return output;
}

// Output padding first restores elements that are cut off at the end, and then adds zeros.
Value transposedConvolution(OpContext &op, Value x, Value w, const TransposedWindows &windows, int64_t groups,
                            llvm::ArrayRef<int64_t> output) {
  mlir::OpBuilder &b = op.emit.builder;
  Shape made{shapeOf(x)[0], shapeOf(w)[1] * groups}, cut, missing(2, 0);
  for (size_t i = 0; i < output.size(); ++i) {
    int64_t after = windows.covered[i] - windows.padLow[i] - output[i];
    cut.push_back(std::max<int64_t>(after, 0));
    missing.push_back(std::max<int64_t>(-after, 0));
    made.push_back(output[i] - missing.back());
  }
  Value y = op.emit.make<ConvolutionInputGradOp>(
      typeOf(x).clone(made), x, w, b.getDenseI64ArrayAttr(windows.strides), b.getDenseI64ArrayAttr(windows.dilations),
      b.getDenseI64ArrayAttr(windows.padLow), b.getDenseI64ArrayAttr(cut), b.getI64IntegerAttr(groups));
  return op.emit.pad(y, Shape(missing.size(), 0), missing, 0);
}

LogicalResult importConvTranspose(OpContext &op) {
  Value x = op.value(0), w = op.value(1);
  int64_t groups = op.intAttr("group", 1);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 5)) || failed(checkShapes(op, x, w, groups)))
    return failure();
  Shape kernel(shapeOf(w).drop_front(2));
  if (op.intsAttr("kernel_shape").value_or(kernel) != kernel)
    return op.fail("`kernel_shape` differs from the filter " + formatShape(shapeOf(w)));
  llvm::ArrayRef<int64_t> input = shapeOf(x).drop_front(2);
  auto windows = readTransposedWindows(op, input, kernel);
  if (failed(windows))
    return failure();
  auto output = outputSizes(op, *windows, input);
  if (failed(output))
    return failure();
  Shape shape{shapeOf(x)[0], shapeOf(w)[1] * groups};
  shape.append(*output);
  if (!countElements(shape))
    return op.fail("the result " + formatShape(shape) + " is too large");
  for (size_t i = 0; i < input.size(); ++i)
    if (windows->covered[i] - windows->padLow[i] < 1)
      return op.fail("pads " + llvm::Twine(windows->padLow[i]) + " cut off all of spatial dimension " + llvm::Twine(i) +
                     ", which has " + llvm::Twine(windows->covered[i]) + " elements");
  Value bias = op.has(2) ? op.value(2) : Value();
  if (bias && (shapeOf(bias) != llvm::ArrayRef<int64_t>{shape[1]} || elementOf(bias) != elementOf(x)))
    return op.fail("the bias must have shape [" + llvm::Twine(shape[1]) + "] and the input's element type; got " +
                   formatShape(shapeOf(bias)));
  Value y = transposedConvolution(op, x, w, *windows, groups, *output);
  return op.result(bias ? op.emit.add(y, op.emit.broadcastDims(bias, shape, {1})) : y);
}

} // namespace

void cleave::onnx_import::addTransposedConvolutionOperators(OperatorTable &table) {
  table.add("ConvTranspose", 13, importConvTranspose);
}
