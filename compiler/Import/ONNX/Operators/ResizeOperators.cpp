// Imports Resize. Along each axis it is a gather with known indices, and a weighted sum of the gathered elements.
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/ResizeWeights.h"
#include "compiler/Import/ONNX/Operators/ScatterOperators.h"
#include "compiler/Import/ONNX/StaticOperands.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

template <typename T>
FailureOr<T> choose(OpContext &op, llvm::StringRef attribute, llvm::StringRef otherwise,
                    llvm::ArrayRef<std::pair<llvm::StringRef, T>> choices) {
  std::string name = op.stringAttr(attribute, otherwise);
  std::string known;
  for (auto [choice, value] : choices) {
    if (choice == name)
      return value;
    known += (known.empty() ? "" : ", ") + choice.str();
  }
  return op.fail("`" + attribute + "` " + quote(name) + " is not known; expected one of " + known);
}

FailureOr<ResizeMode> readMode(OpContext &op) {
  using Kind = ResizeMode::Kind;
  using Coordinates = ResizeMode::Coordinates;
  using Rounding = ResizeMode::Rounding;
  auto kind = choose<Kind>(op, "mode", "nearest",
                           {{"nearest", Kind::Nearest}, {"linear", Kind::Linear}, {"cubic", Kind::Cubic}});
  auto coordinates = choose<Coordinates>(op, "coordinate_transformation_mode", "half_pixel",
                                         {{"half_pixel", Coordinates::HalfPixel},
                                          {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
                                          {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
                                          {"align_corners", Coordinates::AlignCorners},
                                          {"asymmetric", Coordinates::Asymmetric},
                                          {"tf_crop_and_resize", Coordinates::CropAndResize}});
  auto rounding = choose<Rounding>(op, "nearest_mode", "round_prefer_floor",
                                   {{"round_prefer_floor", Rounding::PreferFloor},
                                    {"round_prefer_ceil", Rounding::PreferCeil},
                                    {"floor", Rounding::Floor},
                                    {"ceil", Rounding::Ceil}});
  if (failed(kind) || failed(coordinates) || failed(rounding))
    return failure();
  ResizeMode mode{*kind, *coordinates, *rounding, float(op.floatAttr("cubic_coeff_a", -0.75))};
  mode.antialias = op.intAttr("antialias", 0) != 0;
  mode.excludeOutside = op.intAttr("exclude_outside", 0) != 0;
  if (mode.antialias && mode.kind == Kind::Nearest)
    return op.fail("antialias needs mode linear or cubic; got nearest");
  if (!std::isfinite(mode.cubicCoefficient))
    return op.fail("`cubic_coeff_a` must be finite");
  return mode;
}

// Returns numbers known at compile time, or nullopt if the input is absent or empty.
FailureOr<std::optional<std::vector<float>>> readFloats(OpContext &op, llvm::StringRef name, size_t i) {
  if (!op.has(i))
    return std::optional<std::vector<float>>();
  StaticOperand known = staticOperand(op, i);
  if (!known && isEmpty(op.value(i)))
    return std::optional<std::vector<float>>();
  if (!known || known->rank() != 1 || known->numElements() > 64)
    return op.fail("`" + name + "` (input " + llvm::Twine(i) + ") must be a vector known at compile time; got " +
                   (known ? "a tensor of shape " + formatShape(known->shape()) : known.reason));
  std::vector<float> values;
  for (int64_t k = 0; k < known->numElements(); ++k)
    values.push_back(float(known->asReal(k)));
  return values.empty() ? std::optional<std::vector<float>>() : std::optional(values);
}

// Gives all axes one scale, as `keep_aspect_ratio_policy` requires.
LogicalResult keepAspectRatio(OpContext &op, llvm::MutableArrayRef<ResizeAxis> axes) {
  enum class Policy { Stretch, NotLarger, NotSmaller };
  auto policy = choose<Policy>(
      op, "keep_aspect_ratio_policy", "stretch",
      {{"stretch", Policy::Stretch}, {"not_larger", Policy::NotLarger}, {"not_smaller", Policy::NotSmaller}});
  if (failed(policy))
    return failure();
  if (*policy == Policy::Stretch || axes.empty())
    return success();
  float scale = axes[0].scale;
  for (ResizeAxis &axis : axes)
    scale = *policy == Policy::NotLarger ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  for (ResizeAxis &axis : axes) {
    axis.scale = scale;
    axis.output = int64_t(std::floor(scale * float(axis.input) + 0.5f));
  }
  return success();
}

// Reads scales or sizes, one for each axis.
LogicalResult readSizes(OpContext &op, llvm::MutableArrayRef<ResizeAxis> axes) {
  auto scales = readFloats(op, "scales", 2);
  if (failed(scales))
    return failure();
  auto sizes = op.ints("sizes", 3);
  if (failed(sizes))
    return failure();
  bool hasSizes = *sizes && !(*sizes)->empty();
  if (bool(*scales) == hasSizes)
    return op.fail("exactly one of `scales` and `sizes` must be given");
  if ((hasSizes ? (*sizes)->size() : (*scales)->size()) != axes.size())
    return op.fail("`scales` or `sizes` must have " + llvm::Twine(axes.size()) + " numbers, one for each axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis &axis = axes[i];
    axis.scale = hasSizes ? float((**sizes)[i]) / float(axis.input) : (**scales)[i];
    if (!(axis.scale > 0) || !std::isfinite(axis.scale))
      return op.fail("`scales` and `sizes` must be finite and greater than 0; got " +
                     (hasSizes ? llvm::Twine((**sizes)[i]).str() : std::to_string((**scales)[i])));
    double output = hasSizes ? double((**sizes)[i]) : std::floor(axis.scale * float(axis.input));
    axis.output = output < 1e12 ? int64_t(output) : int64_t(1e12);
  }
  return hasSizes ? keepAspectRatio(op, axes) : success();
}

LogicalResult readRegion(OpContext &op, const ResizeMode &mode, llvm::MutableArrayRef<ResizeAxis> axes) {
  if (mode.coordinates != ResizeMode::Coordinates::CropAndResize)
    return success();
  auto region = readFloats(op, "roi", 1);
  if (failed(region))
    return failure();
  if (!*region || (*region)->size() != 2 * axes.size())
    return op.fail("tf_crop_and_resize needs a `roi` (input 1) of " + llvm::Twine(2 * axes.size()) +
                   " numbers: all begins, then all ends");
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].begin = (**region)[i], axes[i].end = (**region)[i + axes.size()];
    if (!std::isfinite(axes[i].begin) || !std::isfinite(axes[i].end))
      return op.fail("`roi` must be finite");
  }
  return success();
}

// Resizes one axis. `x` must be floating-point if there are weights.
Value resizeAxis(Emitter &emit, Value x, int64_t dim, const ResizeWeights &weights, double outside) {
  int64_t input = shapeOf(x)[dim], output = int64_t(weights.indices.size()) / weights.taps;
  if (weights.isIdentity(input))
    return x;
  Shape spread(shapeOf(x));
  if (auto times = weights.repetition(input)) {
    Shape dims(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)))), result(spread);
    spread.insert(spread.begin() + dim + 1, *times);
    for (int64_t i = dim + 1; i < rankOf(x); ++i)
      ++dims[i];
    result[dim] = output;
    return emit.reshape(emit.broadcastDims(x, spread, dims), result);
  }
  bool isSum = weights.taps > 1;
  Shape places{output};
  if (isSum)
    places.push_back(weights.taps);
  x = take(emit, x, emit.literal(Literal::ofInts(emit.i64(), places, weights.indices)), dim);
  if (isSum) {
    std::vector<double> numbers(weights.weights.begin(), weights.weights.end());
    Value factors = emit.literal(Literal::ofReals(elementOf(x), places, numbers));
    x = emit.reduce(ReduceKind::Sum, emit.mul(x, emit.broadcastDims(factors, shapeOf(x), {dim, dim + 1})), {dim + 1});
  }
  if (weights.isOutside.empty())
    return x;
  Literal mask(emit.builder.getI1Type(), {output});
  for (bool isOutside : weights.isOutside)
    mask.push(int64_t(isOutside));
  Value condition = emit.broadcastDims(emit.literal(mask), shapeOf(x), {dim});
  return emit.select(condition, emit.splat(outside, typeOf(x)), x);
}

LogicalResult importResize(OpContext &op) {
  Value x = op.value(0);
  auto mode = readMode(op);
  if (failed(mode))
    return failure();
  if (mode->kind != ResizeMode::Kind::Nearest && failed(op.expectFloat(x)))
    return failure();
  Shape dims;
  for (int64_t given : op.intsAttr("axes").value_or(Shape(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)))))) {
    auto dim = op.axis(given, rankOf(x));
    if (failed(dim))
      return failure();
    if (llvm::is_contained(dims, *dim))
      return op.fail("axis " + llvm::Twine(*dim) + " is given twice");
    dims.push_back(*dim);
  }
  if (isEmpty(x))
    return op.fail("expected an input with elements; got shape " + formatShape(shapeOf(x)));
  llvm::SmallVector<ResizeAxis> axes(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    axes[i].input = shapeOf(x)[dims[i]];
  if (failed(readSizes(op, axes)) || failed(readRegion(op, *mode, axes)))
    return failure();
  constexpr int64_t limit = int64_t(1) << 22;
  Shape shape(shapeOf(x));
  for (size_t i = 0; i < dims.size(); ++i) {
    shape[dims[i]] = axes[i].output;
    if (axes[i].output < 1 || axes[i].output > limit || axes[i].output > limit / resizeTaps(*mode, axes[i]))
      return op.fail("the sizes " + formatShape(shape) +
                     " are not supported; each must be at least 1, and be made of "
                     "at most 2^22 elements");
  }
  if (!countElements(shape))
    return op.fail("the result " + formatShape(shape) + " is too large");
  for (size_t i = 0; i < dims.size(); ++i) {
    auto entries = uint64_t(axes[i].output) * uint64_t(resizeTaps(*mode, axes[i]));
    if (!op.emit.budget.draw(Budget::Kind::Elements, 2 * entries, op.describe())) // indices and weights
      return failure();
    x = resizeAxis(op.emit, x, dims[i], makeResizeWeights(*mode, axes[i]), op.floatAttr("extrapolation_value", 0));
  }
  return op.result(x);
}

} // namespace

void cleave::onnx_import::addResizeOperators(OperatorTable &table) { table.add("Resize", 13, inF32<importResize>); }
