// Which real numbers an option accepts: one rule for the options of the compiler and of its programs.
//
// Learning rates, loss scales and the constants of optimizers become f32 on the device. There 1e39 would be infinite,
// 1e-50 would be 0, and a beta of 0.999999999 would be 1. So a number must be in its range after rounding to f32, and
// only 0 may become 0.
#ifndef CLEAVE_RUNTIME_BASE_NUMBERRANGE_H
#define CLEAVE_RUNTIME_BASE_NUMBERRANGE_H

#include <cfloat>
#include <cmath>

namespace cleave::rt {

// True unless the number is a NaN or an infinity, or becomes infinite, 0 or denormal in f32. 0 itself is accepted.
inline bool isNumberOfF32(double value) {
  double size = std::fabs(static_cast<double>(static_cast<float>(value)));
  return value == 0 || (size >= FLT_MIN && size <= FLT_MAX);
}

// True if the number, as f32, is in [low, high), or in (low, high).
inline bool isNumberFrom(double value, double low, double high = INFINITY) {
  double held = static_cast<float>(value);
  return isNumberOfF32(value) && held >= low && held < high;
}
inline bool isNumberAbove(double value, double low, double high = INFINITY) {
  return isNumberFrom(value, low, high) && static_cast<float>(value) > low;
}

} // namespace cleave::rt

#endif
