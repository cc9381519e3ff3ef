#include "runtime/train/data/Convert.h"

#include <cstring>
#include <type_traits>

namespace cleave::rt {
namespace {

template <typename T> T get(const std::byte *source, uint64_t i) {
  T value;
  std::memcpy(&value, source + i * sizeof(T), sizeof value);
  return value;
}

template <size_t Width>
void copy(const std::byte *source, std::byte *target, uint64_t count, uint64_t, const Normalization &) {
  std::memcpy(target, source, count * Width);
}

template <typename From, typename To>
void widen(const std::byte *source, std::byte *target, uint64_t count, uint64_t, const Normalization &) {
  for (uint64_t i = 0; i < count; ++i) {
    To value = static_cast<To>(get<From>(source, i));
    std::memcpy(target + i * sizeof value, &value, sizeof value);
  }
}

template <typename From, typename To>
void normalize(const std::byte *source, std::byte *target, uint64_t count, uint64_t index, const Normalization &n) {
  for (uint64_t i = 0; i < count; ++i) {
    size_t channel = (index + i) / n.inner % n.scale.size();
    To value = static_cast<To>(static_cast<double>(get<From>(source, i)) * n.scale[channel] + n.offset[channel]);
    std::memcpy(target + i * sizeof value, &value, sizeof value);
  }
}

// The conversion to an integer type that holds every value of From; null for other types.
template <typename From> ConvertFn widening(ElementType to) {
  constexpr bool isSigned = std::is_signed_v<From>;
  switch (to) {
  case ElementType::i64:
    return sizeof(From) < 8 ? widen<From, int64_t> : nullptr;
  case ElementType::i32:
    return sizeof(From) < 4 ? widen<From, int32_t> : nullptr;
  case ElementType::i16:
    return sizeof(From) < 2 ? widen<From, int16_t> : nullptr;
  case ElementType::u64:
    return !isSigned && sizeof(From) < 8 ? widen<From, uint64_t> : nullptr;
  case ElementType::u32:
    return !isSigned && sizeof(From) < 4 ? widen<From, uint32_t> : nullptr;
  case ElementType::u16:
    return !isSigned && sizeof(From) < 2 ? widen<From, uint16_t> : nullptr;
  default:
    return nullptr;
  }
}

template <typename From> ConvertFn normalizing(ElementType to) {
  if (to == ElementType::f32)
    return normalize<From, float>;
  return to == ElementType::f64 ? normalize<From, double> : nullptr;
}

template <typename From> ConvertFn choose(ElementType to, bool normalized) {
  if (normalized)
    return normalizing<From>(to);
  if constexpr (std::is_integral_v<From>)
    return widening<From>(to);
  return nullptr;
}

ConvertFn copying(ElementType type) {
  switch (elementSize(type)) {
  case 1:
    return copy<1>;
  case 2:
    return copy<2>;
  case 4:
    return copy<4>;
  default:
    return copy<8>;
  }
}

} // namespace

ConvertFn findConversion(ElementType from, ElementType to, bool normalized) {
  if (from == to && !normalized)
    return copying(from);
  switch (from) {
  case ElementType::f32:
    return choose<float>(to, normalized);
  case ElementType::f64:
    return choose<double>(to, normalized);
  case ElementType::i64:
    return choose<int64_t>(to, normalized);
  case ElementType::i32:
    return choose<int32_t>(to, normalized);
  case ElementType::i16:
    return choose<int16_t>(to, normalized);
  case ElementType::i8:
    return choose<int8_t>(to, normalized);
  case ElementType::boolean:
  case ElementType::u8:
    return choose<uint8_t>(to, normalized);
  case ElementType::u16:
    return choose<uint16_t>(to, normalized);
  case ElementType::u32:
    return choose<uint32_t>(to, normalized);
  case ElementType::u64:
    return choose<uint64_t>(to, normalized);
  case ElementType::f16:
  case ElementType::bf16:
    return nullptr;
  }
  return nullptr;
}

} // namespace cleave::rt
