// Imports GridSample, which reads an image at the positions of a grid, between its pixels; and AffineGrid, which builds
// such grids.
//
//   image [n, c, h, w], grid [n, p, q, 2] of (x, y) in [-1, 1]  ->  [n, c, p, q]        (or d, h, w and (x, y, z))
//
// A position is converted to pixels, and moved into the image if the padding says so. Along each direction, the result
// depends on one pixel (nearest), two (linear) or four (cubic), its taps. It is the sum over all combinations of taps.
// Each pixel is picked by its linear index in the image of its sample, and multiplied by its weight; a pixel outside of
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
enum class Interpolation { Nearest, Linear, Cubic };

struct Request {
  Interpolation mode;
  bool alignCorners;
  Padding padding;
};

// For each position, one pixel along one direction: its number, whether it is in the image, and its weight.
struct Tap {
  Value index, isInside, weight; // null weight: 1
};

class Sampler {
public:
  Sampler(Emitter &emit, const Request &request) : emit(emit), request(request) {}

  // Returns the taps along one direction, for positions in [-1, 1].
  llvm::SmallVector<Tap> taps(Value grid, int64_t size) {
    Value at = inPixels(grid, double(size));
    if (request.mode == Interpolation::Cubic)
      return cubicTaps(at, size);
    at = padded(at, size);
    if (request.mode == Interpolation::Nearest)
      return {tap(emit.unary<RoundOp>(at), size, Value())};
    Value pixel = emit.unary<FloorOp>(at), part = emit.sub(at, pixel);
    return {tap(pixel, size, emit.add(emit.neg(part), 1.0)), tap(emit.add(pixel, 1.0), size, part)};
  }

  // Returns the values at one tap of each direction, times their weights. The first tap is that of the slowest
  // dimension. `table` is [n, pixels, c].
  Value values(Value table, llvm::ArrayRef<Tap> taps, llvm::ArrayRef<int64_t> sizes) {
    Value index = taps[0].index, here = taps[0].isInside, weight = taps[0].weight;
    for (auto [tap, size] : llvm::zip(taps.drop_front(), sizes.drop_front())) {
      index = emit.add(emit.mul(index, double(size)), tap.index);
      here = emit.binary<AndOp>(here, tap.isInside);
      weight = weight ? emit.mul(weight, tap.weight) : weight;
    }
    Value picked = pick(emit, table, index, /*dim=*/1, /*batch=*/1);
    picked = emit.select(spread(here, picked), picked, emit.splat(0, typeOf(picked)));
    return weight ? emit.mul(picked, spread(weight, picked)) : picked;
  }

private:
  // Uses Keys' kernel with a = -0.75, like PyTorch and the standard. Each pixel is padded separately.
  llvm::SmallVector<Tap> cubicTaps(Value at, int64_t size) {
    constexpr double a = -0.75;
    Value pixel = emit.unary<FloorOp>(at), part = emit.sub(at, pixel);
    auto near = [&](Value d) { // |d| <= 1
      return emit.add(emit.mul(emit.mul(emit.add(emit.mul(d, a + 2), -(a + 3)), d), d), 1.0);
    };
    auto far = [&](Value d) { // 1 < |d| < 2
      return emit.add(emit.mul(emit.add(emit.mul(emit.add(emit.mul(d, a), -5 * a), d), 8 * a), d), -4 * a);
    };
    Value rest = emit.add(emit.neg(part), 1.0);
    llvm::SmallVector<Tap> taps;
    for (auto [step, weight] :
         {std::pair(-1, far(emit.add(part, 1.0))), {0, near(part)}, {1, near(rest)}, {2, far(emit.add(rest, 1.0))}})
      taps.push_back(tap(padded(emit.add(pixel, double(step)), size), size, weight));
    return taps;
  }

  Tap tap(Value pixel, int64_t size, Value weight) {
    Value isInside =
        emit.binary<AndOp>(emit.compare(Predicate::Ge, pixel, 0.0), emit.compare(Predicate::Lt, pixel, double(size)));
    // A pixel outside of the image gets the index of the nearest pixel inside. Its value is not used.
    return {emit.cast(clipped(pixel, 0, double(size) - 1), emit.i64()), isInside, weight};
  }

  // Converts [-1, 1] to pixels. -1 and 1 are the centers of the first and the last pixel (align_corners), or their
  // outer edges.
  Value inPixels(Value grid, double size) {
    Value shifted = emit.add(grid, 1.0);
    return request.alignCorners ? emit.mul(shifted, (size - 1) / 2)
                                : emit.mul(emit.add(emit.mul(shifted, size), -1.0), 0.5);
  }

  Value padded(Value at, int64_t size) {
    if (request.padding == Padding::Reflection)
      at = reflected(at, double(size));
    return request.padding == Padding::Zeros ? at : clipped(at, 0, double(size) - 1);
  }

  // Reflects positions beyond the ends, as often as necessary.
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

  // The gradient at the ends is zero, as in PyTorch. NaN becomes `low`.
  Value clipped(Value at, double low, double high) {
    Value below = emit.select(emit.compare(Predicate::Lt, at, high), at, emit.splat(high, typeOf(at)));
    return emit.select(emit.compare(Predicate::Gt, at, low), below, emit.splat(low, typeOf(at)));
  }

  Value spread(Value ofPlaces, Value values) { return emit.broadcastDims(ofPlaces, shapeOf(values), {0, 1}); }

  Emitter &emit;
  const Request &request;
};

FailureOr<Request> readRequest(OpContext &op) {
  Request request{};
  std::string mode = op.stringAttr("mode", op.opset() < 20 ? "bilinear" : "linear"),
              padding = op.stringAttr("padding_mode", "zeros");
  if (mode == "nearest")
    request.mode = Interpolation::Nearest;
  else if (mode == "linear" || mode == "bilinear")
    request.mode = Interpolation::Linear;
  else if (mode == "cubic" || mode == "bicubic")
    request.mode = Interpolation::Cubic;
  else
    return op.fail("mode " + quote(mode) + " is not known; expected nearest, linear, bilinear, cubic or bicubic");
  request.alignCorners = op.intAttr("align_corners", 0) != 0;
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return op.fail("padding_mode " + quote(padding) + " is not known; expected zeros, border or reflection");
  request.padding = padding == "zeros" ? Padding::Zeros : padding == "border" ? Padding::Border : Padding::Reflection;
  return request;
}

LogicalResult checkShapes(OpContext &op, const Request &request, llvm::ArrayRef<int64_t> in,
                          llvm::ArrayRef<int64_t> places) {
  int64_t dims = int64_t(in.size()) - 2;
  if (places.size() != in.size() || places[0] != in[0] || places.back() != dims)
    return op.fail("the grid must have the shape [" + llvm::Twine(in[0]) + (dims == 3 ? ", depth" : "") +
                   ", height, width, " + llvm::Twine(dims) + "]; got " + formatShape(places));
  if (llvm::is_contained(in.drop_front(2), 0))
    return op.fail("the image of shape " + formatShape(in) + " has no pixels");
  if (request.mode == Interpolation::Cubic && dims != 2)
    return op.fail("mode cubic is defined for images [n, c, h, w]; got shape " + formatShape(in));
  return success();
}

LogicalResult importGridSample(OpContext &op) {
  Value image = op.value(0), grid = op.value(1);
  auto request = readRequest(op);
  bool isPicked = succeeded(request) && request->mode == Interpolation::Nearest; // any type: nothing is added up
  if (failed(request) || (!isPicked && failed(op.expectFloat(image))) || failed(op.expectRank(image, 4, 5)))
    return failure();
  Shape in(shapeOf(image)), places(shapeOf(grid)), sizes(in.begin() + 2, in.end());
  if (failed(checkShapes(op, *request, in, places)))
    return failure();
  Emitter &emit = op.emit;
  Shape result{in[0], in[1]};
  result.append(places.begin() + 1, places.end() - 1);
  if (!countElements(result))
    return op.fail("the result " + formatShape(result) + " is too large");
  if (isEmpty(image) || isEmpty(grid))
    return op.result(emit.splat(0, typeOf(image).clone(result)));
  int64_t dims = int64_t(sizes.size()), pixels = *countElements(sizes);
  int64_t count = *countElements(llvm::ArrayRef<int64_t>(result).drop_front(2));
  grid = emit.reshape(isFloat(image) ? emit.cast(grid, elementOf(image)) : grid, {in[0], count, dims});
  Value table = emit.transpose(emit.reshape(image, {in[0], in[1], pixels}), {0, 2, 1});
  Sampler sampler(emit, *request);
  // The first number of a grid position belongs to the image's last dimension.
  llvm::SmallVector<llvm::SmallVector<Tap>, 0> directions;
  for (int64_t dim = 0; dim < dims; ++dim) {
    Value coordinates = emit.reshape(emit.sliceDim(grid, 2, dims - 1 - dim, 1), {in[0], count});
    directions.push_back(sampler.taps(coordinates, sizes[dim]));
  }
  Value sum;
  size_t taps = directions[0].size(), combinations = 1;
  for (int64_t dim = 0; dim < dims; ++dim)
    combinations *= taps;
  for (size_t combination = 0; combination < combinations; ++combination) {
    llvm::SmallVector<Tap> chosen(directions.size());
    size_t rest = combination;
    for (size_t dim = directions.size(); dim-- > 0; rest /= taps) // the last dimension changes fastest
      chosen[dim] = directions[dim][rest % taps];
    Value values = sampler.values(table, chosen, sizes);
    sum = sum ? emit.add(sum, values) : values;
  }
  return op.result(emit.reshape(emit.transpose(sum, {0, 2, 1}), result));
}

// grid[n, positions..., k] = theta[n, k, 0] x + theta[n, k, 1] y (+ theta[n, k, 2] z) + theta[n, k, last]. x, y and z
// go from -1 to 1 along the last, the next to last and the first spatial dimension.
LogicalResult importAffineGrid(OpContext &op) {
  Value theta = op.value(0);
  auto given = op.ints("size", 1);
  if (failed(given) || failed(op.expectFloat(theta)) || failed(op.expectRank(theta, 3, 3)))
    return failure();
  Shape size = **given, matrix(shapeOf(theta));
  int64_t dims = int64_t(size.size()) - 2;
  Shape result;
  if (!size.empty())
    result.push_back(size[0]);
  if (dims >= 2 && dims <= 3)
    result.append(size.begin() + 2, size.end());
  result.push_back(dims);
  if (dims < 2 || dims > 3 || matrix != Shape{size[0], dims, dims + 1} || !countElements(result))
    return op.fail("expected a size [n, c, h, w] or [n, c, d, h, w] and theta [n, 2, 3] or [n, 3, 4] with the same n; "
                   "got size " +
                   formatShape(size) + " and theta " + formatShape(matrix));
  Emitter &emit = op.emit;
  auto type = typeOf(theta).clone(result);
  if (llvm::is_contained(result, 0))
    return op.result(emit.splat(0, type));
  auto column = [&](int64_t k) {
    return emit.broadcastDims(emit.reshape(emit.sliceDim(theta, 2, k, 1), {size[0], dims}), result, {0, dims + 1});
  };
  bool alignCorners = op.intAttr("align_corners", 0) != 0;
  Value sum = column(dims);
  for (int64_t k = 0; k < dims; ++k) {
    int64_t dim = dims - k, length = result[dim]; // of the result
    Value place = emit.cast(emit.iota(dim, type.clone(emit.i64())), type.getElementType());
    if (alignCorners) // a single position is the center
      place = length > 1 ? emit.add(emit.mul(place, 2.0 / double(length - 1)), -1.0) : emit.splat(0, type);
    else
      place = emit.add(emit.div(emit.add(emit.mul(place, 2.0), 1.0), double(length)), -1.0);
    sum = emit.add(sum, emit.mul(column(k), place));
  }
  return op.result(sum);
}

} // namespace

void cleave::onnx_import::addGridSampleOperators(OperatorTable &table) {
  table.add("GridSample", 16, inF32<importGridSample>);
  table.add("AffineGrid", 20, inF32<importAffineGrid>);
}
