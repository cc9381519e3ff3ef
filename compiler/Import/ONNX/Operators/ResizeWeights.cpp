#include "compiler/Import/ONNX/Operators/ResizeWeights.h"

#include <algorithm>
#include <cmath>

using namespace cleave::onnx_import;
using Coordinates = ResizeMode::Coordinates;
using Kind = ResizeMode::Kind;

namespace {

// Returns the position of output element `i` among the input's elements.
float coordinateOf(const ResizeMode &mode, const ResizeAxis &axis, float i) {
  float input = float(axis.input), output = float(axis.output);
  float halfPixel = (i + 0.5f) / axis.scale - 0.5f;
  switch (mode.coordinates) {
  case Coordinates::HalfPixel:
    return halfPixel;
  case Coordinates::HalfPixelSymmetric:
    return input / 2 * (1 - output / (axis.scale * input)) + halfPixel;
  case Coordinates::PytorchHalfPixel:
    return axis.output > 1 ? halfPixel : 0;
  case Coordinates::AlignCorners:
    return axis.output == 1 ? 0 : i * (input - 1) / (output - 1);
  case Coordinates::Asymmetric:
    return i / axis.scale;
  case Coordinates::CropAndResize:
    if (axis.output == 1)
      return 0.5f * (axis.begin + axis.end) * (input - 1);
    return axis.begin * (input - 1) + i * (axis.end - axis.begin) * (input - 1) / (output - 1);
  }
  return 0;
}

int64_t nearest(ResizeMode::Rounding rounding, float at) {
  switch (rounding) {
  case ResizeMode::Rounding::PreferFloor:
    return int64_t(std::ceil(at - 0.5f));
  case ResizeMode::Rounding::PreferCeil:
    return int64_t(std::floor(at + 0.5f));
  case ResizeMode::Rounding::Floor:
    return int64_t(std::floor(at));
  case ResizeMode::Rounding::Ceil:
    return int64_t(std::ceil(at));
  }
  return 0;
}

// Returns the weight of an element at this distance.
double kernel(const ResizeMode &mode, double distance) {
  double x = std::abs(distance), a = mode.cubicCoefficient;
  if (mode.kind == Kind::Linear)
    return std::max(1 - x, 0.0);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Returns the factor by which antialiasing widens the kernel: that of the reduction.
double spread(const ResizeMode &mode, const ResizeAxis &axis) {
  return mode.antialias ? std::max(1.0 / axis.scale, 1.0) : 1.0;
}

} // namespace

int64_t cleave::onnx_import::resizeTaps(const ResizeMode &mode, const ResizeAxis &axis) {
  if (mode.kind == Kind::Nearest)
    return 1;
  double support = (mode.kind == Kind::Linear ? 1 : 2) * spread(mode, axis);
  return support > 1e9 ? int64_t(1) << 31 : 2 * int64_t(std::ceil(support));
}

ResizeWeights cleave::onnx_import::makeResizeWeights(const ResizeMode &mode, const ResizeAxis &axis) {
  ResizeWeights result;
  result.taps = resizeTaps(mode, axis);
  double width = spread(mode, axis);
  for (int64_t i = 0; i < axis.output; ++i) {
    float at = coordinateOf(mode, axis, float(i));
    if (mode.coordinates == Coordinates::CropAndResize)
      result.isOutside.push_back(!(at >= 0 && at <= float(axis.input - 1)));
    // Far outside, every element is the edge. The clamp prevents overflow.
    at = std::clamp(at, -4.0f * float(result.taps), float(axis.input) + 4.0f * float(result.taps));
    if (mode.kind == Kind::Nearest) {
      result.indices.push_back(std::clamp<int64_t>(nearest(mode.rounding, at), 0, axis.input - 1));
      continue;
    }
    int64_t first = int64_t(std::floor(at)) - result.taps / 2 + 1;
    std::vector<double> weights;
    double sum = 0;
    for (int64_t t = 0; t < result.taps; ++t) {
      int64_t index = first + t;
      bool counts = !mode.excludeOutside || (index >= 0 && index < axis.input);
      weights.push_back(counts ? kernel(mode, (double(index) - at) / width) : 0);
      result.indices.push_back(std::clamp<int64_t>(index, 0, axis.input - 1));
      sum += weights.back();
    }
    for (double weight : weights)
      result.weights.push_back(float(sum == 0 ? 0 : weight / sum));
  }
  if (std::find(result.isOutside.begin(), result.isOutside.end(), true) == result.isOutside.end())
    result.isOutside.clear();
  return result;
}

std::optional<int64_t> ResizeWeights::repetition(int64_t input) const {
  int64_t output = int64_t(indices.size());
  if (taps != 1 || !isOutside.empty() || output % input != 0)
    return std::nullopt;
  for (int64_t i = 0; i < output; ++i)
    if (indices[i] != i / (output / input))
      return std::nullopt;
  return output / input;
}

// True if every output element is the input element of its index, whatever the number of taps.
bool ResizeWeights::isIdentity(int64_t input) const {
  if (!isOutside.empty() || int64_t(indices.size()) != input * taps)
    return false;
  for (int64_t i = 0; i < int64_t(indices.size()); ++i) {
    bool isOwn = indices[i] == i / taps;
    if (weights.empty() ? !isOwn : !isOwn && weights[i] != 0)
      return false;
  }
  return true;
}
