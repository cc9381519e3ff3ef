#include "runtime/state/ElementValue.h"

#include "runtime/state/FloatConversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cleave::rt {
namespace {

template <typename T> void put(T value, std::byte *target) { std::memcpy(target, &value, sizeof value); }

template <typename T> double get(const std::byte *source) {
  T value;
  std::memcpy(&value, source, sizeof value);
  return static_cast<double>(value);
}

// Rounds to a binary floating-point format of 16 bits, with `mantissa` stored bits and exponents from `minExponent` on.
uint16_t roundToHalf(double value, int mantissa, int minExponent, int maxExponent) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = static_cast<uint16_t>((maxExponent - minExponent + 2) << mantissa);
  if (std::isnan(value))
    return static_cast<uint16_t>(sign | infinity | (1u << (mantissa - 1)));
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | infinity;
  int exponent = std::max(std::ilogb(magnitude), minExponent);
  // In units of the last place. The encoding makes a carry into the next exponent right.
  auto units = static_cast<uint32_t>(std::nearbyint(std::scalbn(magnitude, mantissa - exponent)));
  if (exponent > maxExponent)
    return sign | infinity;
  uint32_t biased = static_cast<uint32_t>(exponent - minExponent);
  return static_cast<uint16_t>(sign | std::min<uint32_t>((biased << mantissa) + units, infinity));
}

double widenHalf(uint16_t bits, int mantissa, int minExponent, int maxExponent) {
  uint32_t field = (bits & 0x7fffu) >> mantissa;
  uint32_t fraction = bits & ((1u << mantissa) - 1);
  double magnitude;
  if (static_cast<int>(field) == maxExponent - minExponent + 2)
    magnitude = fraction ? NAN : INFINITY;
  else if (field == 0)
    magnitude = std::scalbn(static_cast<double>(fraction), minExponent - mantissa);
  else
    magnitude = std::scalbn(static_cast<double>(fraction + (1u << mantissa)),
                            static_cast<int>(field) - 1 + minExponent - mantissa);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t getBits(const std::byte *source) {
  uint16_t bits;
  std::memcpy(&bits, source, sizeof bits);
  return bits;
}

} // namespace

void storeElement(ElementType type, double value, std::byte *target) {
  switch (type) {
  case ElementType::f32:
    return put(static_cast<float>(value), target);
  case ElementType::f64:
    return put(value, target);
  case ElementType::f16:
    return put(roundToHalf(value, 10, -14, 15), target);
  case ElementType::bf16:
    return put(roundToHalf(value, 7, -126, 127), target);
  case ElementType::boolean:
    return put(static_cast<uint8_t>(value != 0), target);
  default:
    return storeInteger(type, static_cast<int64_t>(value), target);
  }
}

void storeInteger(ElementType type, int64_t value, std::byte *target) {
  switch (type) {
  case ElementType::i64:
  case ElementType::u64:
    return put(value, target);
  case ElementType::i32:
  case ElementType::u32:
    return put(static_cast<int32_t>(value), target);
  case ElementType::i16:
  case ElementType::u16:
    return put(static_cast<int16_t>(value), target);
  case ElementType::i8:
  case ElementType::u8:
    return put(static_cast<int8_t>(value), target);
  default:
    return storeElement(type, static_cast<double>(value), target);
  }
}

double loadElement(ElementType type, const std::byte *source) {
  switch (type) {
  case ElementType::f32:
    return get<float>(source);
  case ElementType::f64:
    return get<double>(source);
  case ElementType::f16:
    return widenHalf(getBits(source), 10, -14, 15);
  case ElementType::bf16:
    return widenHalf(getBits(source), 7, -126, 127);
  case ElementType::i64:
    return get<int64_t>(source);
  case ElementType::i32:
    return get<int32_t>(source);
  case ElementType::i16:
    return get<int16_t>(source);
  case ElementType::i8:
    return get<int8_t>(source);
  case ElementType::u8:
  case ElementType::boolean:
    return get<uint8_t>(source);
  case ElementType::u16:
    return get<uint16_t>(source);
  case ElementType::u32:
    return get<uint32_t>(source);
  case ElementType::u64:
    return get<uint64_t>(source);
  }
  return 0;
}

uint64_t findNonFinite(ElementType type, const std::byte *values, uint64_t count) {
  uint64_t infinite = count;
  for (uint64_t i = 0; isFloating(type) && i < count; ++i) {
    double value = loadElement(type, values + i * elementSize(type));
    if (std::isnan(value))
      return i;
    if (std::isinf(value))
      infinite = std::min(infinite, i);
  }
  return infinite;
}

} // namespace cleave::rt
