// Imports RoiAlign, which samples each region of an image into a raster of the same size, for the heads of detectors.
//
//   x [n, c, h, w], rois [r, 4] of (x1, y1, x2, y2), batch_indices [r]  ->  [r, c, height, width]
//
// A cell of the raster is the average (or the maximum) of `sampling_ratio` squared positions in it. The value at a
// position is interpolated from the four pixels around it. The number of positions must be given. Otherwise it would
// depend on each region's size, which is data. Rows and columns are independent of one another. Their indices and
// weights are combined into one index and one weight.
#include "compiler/Import/ONNX/Operators/RegionOperators.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// For one direction: the pixels before and after each position [r, cells, samples], and their weights.
struct Axis {
  Value before, after, weightBefore, weightAfter;
};

class RegionSampler {
public:
  RegionSampler(OpContext &op, Value x, Value rois) : op(op), emit(op.emit), x(x), rois(rois) {}

  Axis axis(int64_t first, int64_t cells, int64_t samples, int64_t size) {
    int64_t regions = shapeOf(rois)[0];
    bool isHalfPixel =
        op.opset() >= 16 && op.stringAttr("coordinate_transformation_mode", "half_pixel") == "half_pixel";
    double scale = op.floatAttr("spatial_scale", 1);
    auto edge = [&](int64_t which) {
      Value scaled = emit.mul(emit.reshape(emit.sliceDim(rois, 1, which, 1), {regions}), scale);
      return isHalfPixel ? emit.add(scaled, -0.5) : scaled;
    };
    Value low = edge(first), extent = emit.sub(edge(first + 2), low);
    if (!isHalfPixel)
      extent = emit.atLeast(extent, 1.0);
    Shape space{regions, cells, samples};
    auto numbers = typeOf(rois).clone(space);
    auto place = [&](int64_t dim) { return emit.cast(emit.iota(dim, numbers.clone(emit.i64())), elementOf(rois)); };
    Value cell = emit.div(extent, double(cells));
    Value parts = emit.add(place(1), emit.div(emit.add(place(2), 0.5), double(samples)));
    Value at = emit.add(emit.broadcastDims(low, space, {0}), emit.mul(emit.broadcastDims(cell, space, {0}), parts));
    Value isInside =
        emit.binary<AndOp>(emit.compare(Predicate::Ge, at, -1.0), emit.compare(Predicate::Le, at, double(size)));
    Value inImage = emit.atMost(emit.atLeast(at, 0.0), double(size) - 1);
    Value pixel = emit.atMost(emit.unary<FloorOp>(inImage), double(std::max<int64_t>(size - 2, 0)));
    Value part = emit.sub(inImage, pixel), zero = emit.splat(0, numbers);
    Axis result;
    result.before = emit.cast(emit.select(isInside, pixel, zero), emit.i64());
    result.after = emit.atMost(emit.add(result.before, 1.0), double(size - 1));
    result.weightBefore = emit.select(isInside, emit.add(emit.neg(part), 1.0), zero);
    result.weightAfter = emit.select(isInside, part, zero);
    return result;
  }

  // Returns the values at one pixel of each direction, [r, cells y, samples y, cells x, samples x, c], times their
  // weights.
  Value corner(Value table, Value image, Value row, Value column, Value weightRow, Value weightColumn) {
    Shape rows(shapeOf(row)), space = rows;
    space.append(shapeOf(column).begin() + 1, shapeOf(column).end());
    auto spreadRow = [&](Value value) { return emit.broadcastDims(value, space, {0, 1, 2}); };
    auto spreadColumn = [&](Value value) { return emit.broadcastDims(value, space, {0, 3, 4}); };
    Value index = emit.add(emit.mul(emit.broadcastDims(image, space, {0}), double(shapeOf(x)[2])), spreadRow(row));
    index = emit.add(emit.mul(index, double(shapeOf(x)[3])), spreadColumn(column));
    Value values = take(emit, table, index, 0);
    Value weight = emit.mul(spreadRow(weightRow), spreadColumn(weightColumn));
    return emit.mul(values, emit.broadcastDims(weight, shapeOf(values), {0, 1, 2, 3, 4}));
  }

private:
  OpContext &op;
  Emitter &emit;
  Value x, rois;
};

LogicalResult importRoiAlign(OpContext &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0), rois = op.value(1), images = op.value(2);
  int64_t height = op.intAttr("output_height", 1), width = op.intAttr("output_width", 1),
          samples = op.intAttr("sampling_ratio", 0);
  std::string mode = op.stringAttr("mode", "avg");
  if (failed(op.expectRank(x, 4, 4)) || failed(op.expectRank(rois, 2, 2)))
    return failure();
  Shape in(shapeOf(x));
  int64_t regions = shapeOf(rois)[0];
  if (shapeOf(rois)[1] != 4 || shapeOf(images) != llvm::ArrayRef<int64_t>{regions} || isEmpty(x) || regions == 0)
    return op.fail("expected an image with elements, rois [r, 4] and batch_indices [r]; got " + formatShape(in) + ", " +
                   formatShape(shapeOf(rois)) + " and " + formatShape(shapeOf(images)));
  if (samples < 1)
    return op.fail("sampling_ratio 0 takes a number of samples that depends on each region's size; expected 1 or more, "
                   "which torchvision's roi_align and MultiScaleRoIAlign take as `sampling_ratio`");
  Shape result{regions, in[1], height, width}, spread{regions, height, samples, width, samples, in[1]};
  if ((mode != "avg" && mode != "max") || height < 1 || width < 1 || !countElements(spread))
    return op.fail("expected mode avg or max, and a result of at least 1 and of a size that can be held; got mode " +
                   quote(mode) + " and result " + formatShape(result));
  if (const Literal *known = op.literal(2))
    for (int64_t i = 0, n = known->isSplat() ? 1 : known->numElements(); i < n; ++i)
      if (int64_t image = known->asInt(i); image < 0 || image >= in[0])
        return op.fail("`batch_indices` has " + llvm::Twine(image) + "; the input has " + llvm::Twine(in[0]) +
                       " images");
  images = op.literal(2) ? images : checkLabels(emit, emit.cast(images, emit.i64()), in[0], std::nullopt);
  Value table = emit.reshape(emit.transpose(x, {0, 2, 3, 1}), {in[0] * in[2] * in[3], in[1]});
  RegionSampler sampler(op, x, emit.cast(rois, elementOf(x)));
  Axis rows = sampler.axis(1, height, samples, in[2]), columns = sampler.axis(0, width, samples, in[3]);
  llvm::SmallVector<Value> corners;
  for (auto [row, weightRow] : {std::pair(rows.before, rows.weightBefore), {rows.after, rows.weightAfter}})
    for (auto [column, weightColumn] :
         {std::pair(columns.before, columns.weightBefore), {columns.after, columns.weightAfter}})
      corners.push_back(sampler.corner(table, images, row, column, weightRow, weightColumn));
  auto combine = [&](Value a, Value b) { return mode == "avg" ? emit.add(a, b) : emit.binary<MaxOp>(a, b); };
  Value all = corners[0];
  for (Value corner : llvm::drop_begin(corners))
    all = combine(all, corner);
  Value cells = mode == "avg" ? emit.mean(all, {2, 4}) : emit.reduce(ReduceKind::Max, all, {2, 4});
  return op.result(emit.transpose(cells, {0, 3, 1, 2}));
}

} // namespace

void cleave::onnx_import::addRegionOperators(OperatorTable &table) { table.add("RoiAlign", 13, inF32<importRoiAlign>); }
