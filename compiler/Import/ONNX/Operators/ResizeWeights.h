// Which elements of an axis each element of the resized axis is made of, and with which weights: ONNX's Resize along
// one axis. The axes are independent of one another.
//
//   linear, half_pixel, 2 -> 4, from x = [a, b]:
//     y[0] = a    y[1] = 0.75 a + 0.25 b    y[2] = 0.25 a + 0.75 b    y[3] = b
//     indices {0,0, 0,1, 0,1, 1,1}, weights {.75,.25, .75,.25, .25,.75, .25,.75} (-0.25 is between the edge and a copy
//     of it)
//
// Plain C++: no node, no IR. Coordinates are computed in f32, as every runtime does: where a coordinate falls on the
// border between two elements, its rounding decides which of them is the nearest.
//
// Scales may ask for a length that is no whole number: 1.5 makes 7 elements of 5. The standard's `length_resized` is
// then 7, and align_corners puts the last element on the last one, as in onnxruntime and in PyTorch, whose exporters
// write such scales. (The standard's reference implementation takes 7.5 there, and puts it elsewhere.)
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
  float begin = 0, end = 1; // of the region of interest, CropAndResize
};

// Output element i is the sum over t < taps of weights[i * taps + t] * x[indices[i * taps + t]].
struct ResizeWeights {
  int64_t taps = 1;
  std::vector<int64_t> indices;
  std::vector<float> weights;  // empty with one tap: all 1
  std::vector<bool> isOutside; // empty, or which elements lie outside and take the extrapolation value

  bool isIdentity(int64_t input) const;
  // How often each element is repeated, where that is all.
  std::optional<int64_t> repetition(int64_t input) const;
};

// How many elements an output element is made of: the size of the weights is known before they are made.
int64_t resizeTaps(const ResizeMode &mode, const ResizeAxis &axis);
ResizeWeights makeResizeWeights(const ResizeMode &mode, const ResizeAxis &axis);

} // namespace cleave::onnx_import

#endif
