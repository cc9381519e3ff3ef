// Imports operators that put windows back into an image: Col2Im, MaxUnpool.
#include "compiler/Import/ONNX/Operators/UnpoolingOperators.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/Windows.h"
#include "dialects/Cleave/IR/Scatter.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// Adds up the columns of an image's windows: [n, c * block..., windows] -> [n, c, image...].
//
// The element of window w at position k of the block belongs to position w * stride + k * dilation of the padded image.
// So the columns are added along one linear dimension of it, at indices [block..., windows...], and the padding is cut
// off. Narrow integers are added in 32 bits. The lower bits of the sums are the same.
LogicalResult importCol2Im(OpContext &op) {
  Value given = op.value(0), x = given;
  if (!isFloat(x) && elementOf(x).getIntOrFloatBitWidth() < 32)
    x = op.emit.cast(x, op.emit.builder.getI32Type());
  auto image = op.ints("image_shape", 1), block = op.ints("block_shape", 2);
  if (failed(image) || failed(block) || failed(op.expectRank(x, 3, 3)))
    return failure();
  if (elementOf(given).isInteger(1))
    return op.expectFloat(given);
  size_t dims = (*image)->size();
  if (dims < 1 || dims > 3 || !countElements(**image))
    return op.fail("`image_shape` must have one to three sizes; got " + formatShape(**image));
  Shape seen{1, 1};
  seen.append(**image);
  auto windows = readWindows(op, seen, **block);
  if (failed(windows))
    return failure();
  auto places = countElements(**block), count = countElements(windows->output);
  if (isEmpty(x) || !places || !count || shapeOf(x)[1] % *places != 0 || shapeOf(x)[2] != *count)
    return op.fail("the input " + formatShape(shapeOf(x)) + " must be [n, c * " + llvm::Twine(places.value_or(0)) +
                   ", " + llvm::Twine(count.value_or(0)) + "] for blocks " + formatShape(**block) + " of an image " +
                   formatShape(**image));
  Emitter &emit = op.emit;
  int64_t samples = shapeOf(x)[0], channels = shapeOf(x)[1] / *places;
  Shape space = **block, padded{samples, channels}, start(dims + 2, 0), kept = start;
  space.append(windows->output);
  kept[0] = samples, kept[1] = channels;
  auto type = RankedTensorType::get(space, emit.i64());
  for (size_t dim = 0; dim < dims; ++dim) {
    padded.push_back((**image)[dim] + windows->padLow[dim] + windows->padHigh[dim]);
    start[dim + 2] = windows->padLow[dim], kept[dim + 2] = (**image)[dim];
  }
  if (!countElements(padded))
    return op.fail("the padded image " + formatShape(padded) + " is too large");
  Value index;
  for (size_t dim = 0; dim < dims; ++dim) {
    int64_t size = padded[dim + 2];
    Value at = emit.add(emit.mul(emit.iota(int64_t(dims + dim), type), double(windows->strides[dim])),
                        emit.mul(emit.iota(int64_t(dim), type), double(windows->dilations[dim])));
    index = index ? emit.add(emit.mul(index, double(size)), at) : at;
  }
  Shape columns{samples, channels};
  columns.append(space);
  Shape linear{samples, channels, *countElements(llvm::ArrayRef<int64_t>(padded).drop_front(2))};
  Value sums = emit.splat(0, typeOf(x).clone(linear));
  sums = emit.make<PutAddOp>(sums.getType(), sums, index, emit.reshape(x, columns), emit.builder.getI64IntegerAttr(2));
  Value inImage = emit.slice(emit.reshape(sums, padded), start, kept, Shape(kept.size(), 1));
  return op.result(emit.cast(inImage, elementOf(given)));
}

// Puts each element at the position that its index names, and zeros elsewhere. Indices count through the whole pooled
// tensor, so those of each channel start at the channel's first element.
LogicalResult importMaxUnpool(OpContext &op) {
  Value x = op.value(0), indices = op.value(1);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 3, 5)))
    return failure();
  if (shapeOf(indices) != shapeOf(x))
    return op.fail("the indices " + formatShape(shapeOf(indices)) + " must have the input's shape " +
                   formatShape(shapeOf(x)));
  auto windows = readTransposedWindows(op, shapeOf(x).drop_front(2), op.intsAttr("kernel_shape").value_or(Shape()));
  auto given = op.ints("output_shape", 2);
  if (failed(windows) || failed(given))
    return failure();
  Emitter &emit = op.emit;
  Shape pooled{shapeOf(x)[0], shapeOf(x)[1]}, channel;
  for (size_t dim = 0; dim < windows->covered.size(); ++dim)
    channel.push_back(windows->covered[dim] - windows->padLow[dim] - windows->padHigh[dim]);
  pooled.append(channel);
  Shape result = *given ? **given : pooled, high;
  bool fits = result.size() == pooled.size() && countElements(pooled) && countElements(result);
  for (size_t dim = 0; fits && dim < result.size(); ++dim) {
    high.push_back(result[dim] - pooled[dim]);
    fits = high.back() >= 0;
  }
  if (!fits)
    return op.fail("windows that cover " + formatShape(pooled) + " do not fit the `output_shape` " +
                   formatShape(result));
  if (isEmpty(x) || llvm::is_contained(pooled, 0))
    return op.result(emit.splat(0, typeOf(x).clone(result)));
  int64_t size = *countElements(channel), count = *countElements(shapeOf(x).drop_front(2));
  Shape rows{pooled[0], pooled[1], count};
  auto type = RankedTensorType::get(rows, emit.i64());
  Value first = emit.add(emit.mul(emit.iota(0, type), double(pooled[1])), emit.iota(1, type));
  Value index = emit.sub(emit.reshape(emit.cast(indices, emit.i64()), rows), emit.mul(first, double(size)));
  index = checkLabels(emit, index, size, std::nullopt); // an index of another channel could count from the end
  mlir::OpBuilder &b = emit.builder;
  Value zeros = emit.splat(0, typeOf(x).clone({pooled[0], pooled[1], size}));
  Value put = emit.make<PutOp>(zeros.getType(), zeros, index, emit.reshape(x, rows), b.getI64IntegerAttr(2),
                               b.getI64IntegerAttr(2), ReduceKindAttr());
  return op.result(emit.pad(emit.reshape(put, pooled), Shape(high.size(), 0), high, 0));
}

} // namespace

void cleave::onnx_import::addUnpoolingOperators(OperatorTable &table) {
  table.add("Col2Im", 18, inF32<importCol2Im>);
  table.add("MaxUnpool", 13, importMaxUnpool);
}
