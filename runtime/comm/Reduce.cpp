#include "runtime/comm/Reduce.h"

#include "runtime/base/HalfArrays.h"

#include <algorithm>

namespace cleave::rt {

template <typename T, typename Combine>
static void combine(T, const std::byte *from, std::byte *into, size_t count, Combine op) {
  auto *source = reinterpret_cast<const T *>(from);
  auto *target = reinterpret_cast<T *>(into);
#pragma omp simd
  for (size_t i = 0; i < count; ++i)
    target[i] = op(source[i], target[i]);
}

// Converts 16-bit types in blocks: both terms are widened to f32, combined, and rounded once.
template <typename T, typename Combine>
static void combineNarrow(const std::byte *from, std::byte *into, size_t count, Combine op) {
  constexpr size_t kBlock = 1024;
  float source[kBlock], target[kBlock];
  auto *terms = reinterpret_cast<const T *>(from);
  auto *sums = reinterpret_cast<T *>(into);
  for (size_t first = 0; first < count; first += kBlock) {
    size_t length = std::min(kBlock, count - first);
    widen(terms + first, source, length);
    widen(sums + first, target, length);
#pragma omp simd
    for (size_t i = 0; i < length; ++i)
      target[i] = op(source[i], target[i]);
    narrow(target, sums + first, length);
  }
}
template <typename Combine>
static void combine(BFloat16, const std::byte *from, std::byte *into, size_t count, Combine op) {
  combineNarrow<BFloat16>(from, into, count, op);
}
template <typename Combine>
static void combine(Float16, const std::byte *from, std::byte *into, size_t count, Combine op) {
  combineNarrow<Float16>(from, into, count, op);
}

template <typename T>
static Status reduceTyped(Reduction reduction, const std::byte *from, std::byte *into, size_t count) {
  using C = typename ComputeType<T>::type;
  switch (reduction) {
  case Reduction::Sum:
    combine(T(), from, into, count, [](C a, C b) { return static_cast<C>(a + b); });
    return Status::ok();
  case Reduction::Max:
    combine(T(), from, into, count, [](C a, C b) { return a > b || a != a ? a : b; }); // NaN wins
    return Status::ok();
  case Reduction::Min:
    combine(T(), from, into, count, [](C a, C b) { return a < b || a != a ? a : b; });
    return Status::ok();
  }
  return internal("unknown reduction " + std::to_string(static_cast<int64_t>(reduction)));
}

Status reduceInto(fb::DType dtype, Reduction reduction, const std::byte *from, std::byte *into, size_t count) {
  switch (dtype) {
  case fb::DType::f32:
    return reduceTyped<float>(reduction, from, into, count);
  case fb::DType::f64:
    return reduceTyped<double>(reduction, from, into, count);
  case fb::DType::f16:
    return reduceTyped<Float16>(reduction, from, into, count);
  case fb::DType::bf16:
    return reduceTyped<BFloat16>(reduction, from, into, count);
  case fb::DType::i64:
    return reduceTyped<int64_t>(reduction, from, into, count);
  case fb::DType::i32:
    return reduceTyped<int32_t>(reduction, from, into, count);
  case fb::DType::i16:
    return reduceTyped<int16_t>(reduction, from, into, count);
  case fb::DType::i8:
    return reduceTyped<int8_t>(reduction, from, into, count);
  case fb::DType::u8:
  case fb::DType::boolean: // false is 0, true 1
    return reduceTyped<uint8_t>(reduction, from, into, count);
  }
  return invalidArgument("cannot reduce elements of the unknown type " + std::to_string(static_cast<int>(dtype)));
}

} // namespace cleave::rt
