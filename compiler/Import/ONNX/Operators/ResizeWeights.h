// Computes ONNX's Resize along one axis: the input elements that each output element depends on, and their weights. The
// axes are independent of one another.
//
//   linear, half_pixel, 2 -> 4, from x = [a, b]:
//     y[0] = a    y[1] = 0.75 a + 0.25 b    y[2] = 0.25 a + 0.75 b    y[3] = b
//     indices {0,0, 0,1, 0,1, 1,1}, weights {.75,.25, .75,.25, .25,.75, .25,.75} (-0.25 is between the edge and a copy
//     of it)
//
// This is plain C++ without nodes or IR. Coordinates are computed in f32, as every runtime does: if a coordinate is on
// the border between two elements, its rounding decides which of them is the nearest.
//
// A scale may give a length that is not a whole number: 1.5 makes 7 elements of 5. The standard's `length_resized` is
// then 7, and align_corners maps the last element to the last one, as in onnxruntime and in PyTorch, whose exporters
// write such scales. (The standard's reference implementation uses 7.5 instead, and maps it to another place.)
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_RESIZEWEIGHTS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_RESIZEWEIGHTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave::onnx_import {

struct ResizeMode {
  enum class Kind { Nearest, Linear, Cubic };
  enum class Coordinates { HalfPixel, HalfPixelSymmetric, PytorchHalfPixel, AlignCorners, Asymmetric, CropAndResize };
  enum class Rounding { PreferFloor, PreferCeil, Floor, Ceil };

  Kind kind = Kind::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  Rounding rounding = Rounding::PreferFloor;
  float cubicCoefficient = -0.75f;
  bool antialias = false, excludeOutside = false;
};

struct ResizeAxis {
  int64_t input = 1, output = 1;
  float scale = 1;
  float begin = 0, end = 1; // the region of interest, for CropAndResize
};

// Output element i is the sum over t < taps of weights[i * taps + t] * x[indices[i * taps + t]].
struct ResizeWeights {
  int64_t taps = 1;
  std::vector<int64_t> indices;
  std::vector<float> weights;  // empty if there is one tap: all are 1
  std::vector<bool> isOutside; // elements that are outside and get the extrapolation value; empty: none

  bool isIdentity(int64_t input) const;
  // If the resize only repeats each element, returns how often.
  std::optional<int64_t> repetition(int64_t input) const;
};

// Returns the number of input elements that an output element depends on. So the size of the weights is known before
// they are computed.
int64_t resizeTaps(const ResizeMode &mode, const ResizeAxis &axis);
ResizeWeights makeResizeWeights(const ResizeMode &mode, const ResizeAxis &axis);

} // namespace cleave::onnx_import

#endif
