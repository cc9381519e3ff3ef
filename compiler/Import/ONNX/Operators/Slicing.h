// Converts ONNX's slice bounds, which count from the end, are clamped, and may run backwards, to plain starts, sizes
// and steps.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SLICING_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SLICING_H

#include "compiler/Import/ONNX/Literal.h"

namespace cleave::onnx_import {

struct DimSlice {
  int64_t start = 0, size = 0, step = 1; // if step is negative, start is the last element of the range
};

// Resolves the bounds as the standard defines; `step` must not be 0. Bounds below 0 count from the end, then both are
// clamped. If step > 0, both are clamped to [0, size]. If step < 0, the start is clamped to [0, size - 1], and the end
// to [-1, size - 1]. Python differs in one case: with step < 0 and a start before the first element, it selects
// nothing, and this function the first element (as in onnxruntime).
inline DimSlice sliceDim(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (size == 0)
    return {0, 0, step};
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto clamp = [&](int64_t at, int64_t least) {
    if (at < 0)
      at = at < -size ? -1 : at + size; // cannot overflow for the smallest integer
    return std::clamp(at, least, high);
  };
  start = clamp(start, 0);
  end = end < -size ? low : clamp(end, low);
  int64_t distance = step > 0 ? end - start : start - end;
  uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
  return {start, distance <= 0 ? 0 : int64_t((uint64_t(distance) + stride - 1) / stride), step};
}

} // namespace cleave::onnx_import

#endif
