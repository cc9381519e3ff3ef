#include "runtime/state/FloatConversion.h"

#include "runtime/base/HalfArrays.h"
#include "runtime/state/ElementValue.h"

#include <algorithm>
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

} // namespace

bool isFloating(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 || type == ElementType::bf16;
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
