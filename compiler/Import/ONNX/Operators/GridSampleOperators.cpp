// GridSample: the values of an image at the places that a grid names, which lie between its pixels.
//
//   image [n, c, h, w], grid [n, p, q, 2] of (x, y) in [-1, 1]  ->  [n, c, p, q]
//
// A place is taken to pixels, and into the image where the padding says so. Of the pixels around it (four, or the
// nearest one) each is picked by its linear index in the image of its sample, and multiplied by its weight; one outside
// the image is 0. So gradients of the image and of the grid are those of picks and of arithmetic.
#include "compiler/Import/ONNX/Operators/GridSampleOperators.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

enum class Padding { Zeros, Border, Reflection };

struct Request {
  bool isNearest, alignCorners;
  Padding padding;
};

// One direction: the pixel at or before each place, and the part of the way to the next one.
struct Places {
  Value pixel, part;
  int64_t size; // of the image
};

class Sampler {
public:
  Sampler(Emitter &emit, const Request &request) : emit(emit), request(request) {}

  // Of one direction's places in [-1, 1].
  Places places(Value grid, int64_t size) {
    Value at = inPixels(grid, double(size));
    if (request.padding == Padding::Reflection)
      at = reflected(at, double(size));
    if (request.padding != Padding::Zeros)
      at = clipped(at, 0, double(size) - 1);
    if (request.isNearest)
      return {emit.unary<RoundOp>(at), Value(), size};
    Value pixel = emit.unary<FloorOp>(at);
    return {pixel, emit.sub(at, pixel), size};
  }

  // The values at `dx`, `dy` pixels from the places, times their weights. `table` is [n, h * w, c].
  Value corner(Value table, const Places &x, const Places &y, int dx, int dy) {
    Value column = emit.add(x.pixel, double(dx)), row = emit.add(y.pixel, double(dy));
    Value here = emit.binary<AndOp>(isInside(column, x.size), isInside(row, y.size));
    Value index = emit.add(emit.mul(indexOf(row, y.size), splatted(row, double(x.size))), indexOf(column, x.size));
    Value values = pick(emit, table, index, /*dim=*/1, /*batch=*/1);
    values = emit.select(spread(here, values), values, emit.splat(0, typeOf(values)));
    if (request.isNearest)
      return values;
    return emit.mul(values, spread(emit.mul(weight(x, dx), weight(y, dy)), values));
  }

private:
  // -1 and 1 are the middles of the first and the last pixel, or their outer edges.
  Value inPixels(Value grid, double size) {
    Value shifted = emit.add(grid, 1.0);
    return request.alignCorners ? emit.mul(shifted, (size - 1) / 2)
                                : emit.mul(emit.add(emit.mul(shifted, size), -1.0), 0.5);
  }

  // Places beyond the ends go back, as often as it takes.
  Value reflected(Value at, double size) {
    double low = request.alignCorners ? 0 : -0.5, span = request.alignCorners ? size - 1 : size;
    if (span == 0)
      return emit.splat(0, typeOf(at));
    Value distance = emit.add(at, -low),
          far = emit.select(emit.compare(Predicate::Lt, distance, 0.0), emit.neg(distance), distance);
    Value turns = emit.unary<FloorOp>(emit.div(far, span)), rest = emit.sub(far, emit.mul(turns, span));
    Value isBack = emit.compare(Predicate::Ne, emit.binary<RemOp>(turns, 2.0), 0.0);
    return emit.add(emit.select(isBack, emit.add(emit.neg(rest), span), rest), low);
  }

  // With no gradient at the ends, as in PyTorch; NaN becomes `low`.
  Value clipped(Value at, double low, double high) {
    Value below = emit.select(emit.compare(Predicate::Lt, at, high), at, emit.splat(high, typeOf(at)));
    return emit.select(emit.compare(Predicate::Gt, at, low), below, emit.splat(low, typeOf(at)));
  }

  Value isInside(Value pixel, int64_t size) {
    return emit.binary<AndOp>(emit.compare(Predicate::Ge, pixel, 0.0),
                              emit.compare(Predicate::Lt, pixel, double(size)));
  }
  // Of a pixel outside, whose value is not taken, the next one inside.
  Value indexOf(Value pixel, int64_t size) { return emit.cast(clipped(pixel, 0, double(size) - 1), emit.i64()); }
  Value splatted(Value like, double number) { return emit.splat(number, typeOf(like).clone(emit.i64())); }
  Value weight(const Places &places, int step) { return step ? places.part : emit.add(emit.neg(places.part), 1.0); }
  Value spread(Value ofPlaces, Value values) { return emit.broadcastDims(ofPlaces, shapeOf(values), {0, 1}); }

  Emitter &emit;
  const Request &request;
};

FailureOr<Request> readRequest(OpContext &op) {
  Request request{};
  std::string mode = op.stringAttr("mode", op.opset() < 20 ? "bilinear" : "linear"),
              padding = op.stringAttr("padding_mode", "zeros");
  request.isNearest = mode == "nearest";
  request.alignCorners = op.intAttr("align_corners", 0) != 0;
  if (!request.isNearest && mode != "bilinear" && mode != "linear")
    return op.fail("mode " + quote(mode) + " is not supported; expected nearest, linear or bilinear");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return op.fail("padding_mode " + quote(padding) + " is not known; expected zeros, border or reflection");
  request.padding = padding == "zeros" ? Padding::Zeros : padding == "border" ? Padding::Border : Padding::Reflection;
  return request;
}

LogicalResult importGridSample(OpContext &op) {
  Value image = op.value(0), grid = op.value(1);
  auto request = readRequest(op);
  if (failed(request) || failed(op.expectFloat(image)) || failed(op.expectFloat(grid)) ||
      failed(op.expectRank(image, 4, 4)))
    return failure();
  Shape in(shapeOf(image)), places(shapeOf(grid));
  if (places.size() != 4 || places[0] != in[0] || places[3] != 2)
    return op.fail("the grid must have the shape [" + llvm::Twine(in[0]) + ", height, width, 2]; got " +
                   formatShape(places));
  if (in[2] == 0 || in[3] == 0)
    return op.fail("the image of shape " + formatShape(in) + " has no pixels");
  Emitter &emit = op.emit;
  int64_t count = places[1] * places[2];
  grid = emit.reshape(emit.cast(grid, elementOf(image)), {in[0], count, 2});
  auto direction = [&](int64_t which) { return emit.reshape(emit.sliceDim(grid, 2, which, 1), {in[0], count}); };
  Value table = emit.transpose(emit.reshape(image, {in[0], in[1], in[2] * in[3]}), {0, 2, 1});
  Sampler sampler(emit, *request);
  Places x = sampler.places(direction(0), in[3]), y = sampler.places(direction(1), in[2]);
  Value result = sampler.corner(table, x, y, 0, 0);
  if (!request->isNearest)
    for (auto [dx, dy] : {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1)})
      result = emit.add(result, sampler.corner(table, x, y, dx, dy));
  return op.result(emit.reshape(emit.transpose(result, {0, 2, 1}), {in[0], in[1], places[1], places[2]}));
}

} // namespace

void cleave::onnx_import::addGridSampleOperators(OperatorTable &table) {
  table.add("GridSample", 16, inF32<importGridSample>);
}
