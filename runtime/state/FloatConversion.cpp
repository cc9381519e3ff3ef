#include "runtime/state/FloatConversion.h"

#include "runtime/base/HalfArrays.h"
#include "runtime/state/ElementValue.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cleave::rt {
namespace {

constexpr size_t kBlock = 1024;

void loadBlock(ElementType type, const std::byte *source, float *target, size_t count) {
  if (type == ElementType::bf16)
    widen(reinterpret_cast<const BFloat16 *>(source), target, count);
  else if (type == ElementType::f16)
    widen(reinterpret_cast<const Float16 *>(source), target, count);
  else
    std::memcpy(target, source, count * sizeof(float));
}

void storeBlock(ElementType type, const float *source, std::byte *target, size_t count) {
  if (type == ElementType::bf16)
    narrow(source, reinterpret_cast<BFloat16 *>(target), count);
  else if (type == ElementType::f16)
    narrow(source, reinterpret_cast<Float16 *>(target), count);
  else
    std::memcpy(target, source, count * sizeof(float));
}

// True if an element is infinite. `infinity` is the positive one. The loop has no branch, so that it is vectorized.
template <typename Bits> bool hasInfinity(const std::byte *data, size_t count, Bits infinity) {
  constexpr Bits kSign = static_cast<Bits>(Bits(1) << (8 * sizeof(Bits) - 1));
  bool found = false;
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * sizeof bits, sizeof bits);
    found |= static_cast<Bits>(bits & ~kSign) == infinity;
  }
  return found;
}

bool hasInfinity(ElementType type, const std::byte *data, size_t count) {
  switch (type) {
  case ElementType::f16:
    return hasInfinity<uint16_t>(data, count, 0x7C00);
  case ElementType::bf16:
    return hasInfinity<uint16_t>(data, count, 0x7F80);
  case ElementType::f32:
    return hasInfinity<uint32_t>(data, count, 0x7F800000);
  default:
    return false; // f64 holds all numbers of the other types
  }
}

} // namespace

bool isFloating(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 || type == ElementType::bf16;
}

size_t findOverflow(ElementType from, const std::byte *source, ElementType to, const std::byte *target, size_t count) {
  if (from == to || !hasInfinity(to, target, count))
    return count;
  for (size_t i = 0; i < count; ++i)
    if (std::isinf(loadElement(to, target + i * elementSize(to))) &&
        std::isfinite(loadElement(from, source + i * elementSize(from))))
      return i;
  return count;
}

bool isConvertible(ElementType from, ElementType to) { return from == to || (isFloating(from) && isFloating(to)); }

void convertElements(ElementType from, const std::byte *source, ElementType to, std::byte *target, size_t count) {
  size_t fromSize = elementSize(from), toSize = elementSize(to);
  if (from == to) {
    std::memcpy(target, source, count * toSize);
    return;
  }
  if (from == ElementType::f64 || to == ElementType::f64) { // a conversion through f32 would round twice
    for (size_t i = 0; i < count; ++i)
      storeElement(to, loadElement(from, source + i * fromSize), target + i * toSize);
    return;
  }
  float block[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    size_t length = std::min(kBlock, count - first);
    loadBlock(from, source + first * fromSize, block, length);
    storeBlock(to, block, target + first * toSize, length);
  }
}

} // namespace cleave::rt
