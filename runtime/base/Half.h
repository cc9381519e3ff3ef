// The 16-bit floating-point types as storage: they are widened to f32, and stored with rounding to nearest, ties to
// even.
#ifndef CLEAVE_RUNTIME_BASE_HALF_H
#define CLEAVE_RUNTIME_BASE_HALF_H

#include <cstdint>
#include <cstring>

namespace cleave::rt {

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t b = bitsOf(value);
    bool isNan = (b & 0x7fffffff) > 0x7f800000;
    bits = static_cast<uint16_t>(isNan ? (b >> 16) | 0x40 : (b + 0x7fff + ((b >> 16) & 1)) >> 16);
  }
  operator float() const { return floatOf(static_cast<uint32_t>(bits) << 16); }
};

struct Float16 {
  uint16_t bits;
  Float16() = default;
  explicit Float16(float value) {
    uint32_t b = bitsOf(value);
    uint32_t sign = (b >> 16) & 0x8000;
    b &= 0x7fffffff;
    if (b > 0x7f800000) { // NaN
      bits = static_cast<uint16_t>(sign | 0x7e00);
    } else if (b >= 0x477ff000) { // rounds to infinity
      bits = static_cast<uint16_t>(sign | 0x7c00);
    } else if (b < 0x38800000) { // subnormal: the addition rounds at the right bit
      bits = static_cast<uint16_t>(sign | (bitsOf(floatOf(b) + 0.5f) - 0x3f000000));
    } else {
      bits = static_cast<uint16_t>(sign | ((b - 0x38000000 + 0xfff + ((b >> 13) & 1)) >> 13));
    }
  }
  operator float() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00)
      return floatOf(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400)
      return floatOf(sign | bitsOf(static_cast<float>(magnitude) * 0x1p-24f));
    return floatOf(sign | ((magnitude << 13) + 0x38000000));
  }
};

// The type in which values of T are computed.
template <typename T> struct ComputeType { using type = T; };
template <> struct ComputeType<BFloat16> { using type = float; };
template <> struct ComputeType<Float16> { using type = float; };

} // namespace cleave::rt

#endif
