// Conversions of the reduced floating-point types, with one rounding each. All rounding to reduced types is done here:
// callers compute f32 and f64 values exactly, or in a type that is wide enough, and then convert them.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cleave::emulated {

template <class To, class From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From), "same width");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

inline float bf16ToFloat(uint16_t h) { return bitsAs<float>(uint32_t(h) << 16); }

// Rounds `d` to odd. The result has this property: rounding it to nearest in a type with at least two bits less gives
// the same value as rounding `d` directly.
inline float roundToOdd(double d) {
  float f = float(d);
  if (std::isnan(d) || double(f) == d || std::isinf(f))
    return f;
  uint32_t u = bitsAs<uint32_t>(f);
  if (std::fabs(double(f)) > std::fabs(d))
    u--; // towards zero
  return bitsAs<float>(u | 1);
}

inline uint16_t floatToBf16(float f) {
  uint32_t u = bitsAs<uint32_t>(f);
  return f != f ? uint16_t(0x7fff) : uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
inline uint16_t doubleToBf16(double d) { return floatToBf16(roundToOdd(d)); }

float f16ToFloat(uint16_t h);
uint16_t doubleToF16(double d);
inline uint16_t floatToF16(float f) { return doubleToF16(double(f)); }

// cvt.rna.tf32: 10 bits of fraction, ties away from zero.
inline float floatToTf32(float f) {
  uint32_t u = bitsAs<uint32_t>(f);
  return f != f || std::isinf(f) ? f : bitsAs<float>((u + 0x1000) & ~0x1fffu);
}

} // namespace cleave::emulated
