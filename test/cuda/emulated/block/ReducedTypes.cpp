#include "test/cuda/emulated/block/ReducedTypes.h"

namespace cleave::emulated {

float f16ToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
  if (exponent == 31)
    return bitsAs<float>(sign | 0x7f800000 | fraction << 13);
  float magnitude = exponent ? bitsAs<float>((exponent + 112) << 23 | fraction << 13) : float(fraction) * 0x1p-24f;
  return bitsAs<float>(bitsAs<uint32_t>(magnitude) | sign);
}

uint16_t doubleToF16(double d) {
  uint16_t sign = std::signbit(d) ? 0x8000 : 0;
  if (std::isnan(d))
    return 0x7fff;
  double a = std::fabs(d);
  if (a >= 65520.0) // half way between the largest value and the next one if the format had it
    return sign | 0x7c00;
  int exponent;
  std::frexp(a, &exponent); // a = [0.5, 1) * 2^exponent
  // One unit in the last place is 2^(exponent - 11), but at least the 2^-24 of subnormals. nearbyint rounds ties to
  // even.
  int unit = exponent - 11 < -24 || a == 0 ? -24 : exponent - 11;
  double rounded = std::nearbyint(std::ldexp(a, -unit));
  double value = std::ldexp(rounded, unit);
  if (value < 0x1p-14)
    return sign | uint16_t(value * 0x1p24);
  std::frexp(value, &exponent);
  auto fraction = uint16_t(std::ldexp(value, 11 - exponent)); // 11 bits, the first is 1
  return sign | uint16_t((exponent + 14) << 10 | (fraction & 0x3ff));
}

} // namespace cleave::emulated
