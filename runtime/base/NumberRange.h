// Which real numbers an option takes: one rule for the compiler's options and the programs'.
//
// Learning rates, loss scales and the constants of optimizers become f32 on the device. 1e39 would be infinite there, 1e-50
// would be 0, and a beta of 0.999999999 would be 1. So a number must lie in its range as f32 has it, and only 0 may be 0.
#ifndef CLEAVE_RUNTIME_BASE_NUMBERRANGE_H
#define CLEAVE_RUNTIME_BASE_NUMBERRANGE_H

#include <cfloat>
#include <cmath>

namespace cleave::rt {

// NaN, infinities, and what f32 holds as infinite, as 0 or as a denormal number are not.
inline bool isNumberOfF32(double value) {
  double size = std::fabs(static_cast<double>(static_cast<float>(value)));
  return value == 0 || (size >= FLT_MIN && size <= FLT_MAX);
}

// Within [low, high), and within (low, high).
inline bool isNumberFrom(double value, double low, double high = INFINITY) {
  double held = static_cast<float>(value);
  return isNumberOfF32(value) && held >= low && held < high;
}
inline bool isNumberAbove(double value, double low, double high = INFINITY) {
  return isNumberFrom(value, low, high) && static_cast<float>(value) > low;
}

} // namespace cleave::rt

#endif
