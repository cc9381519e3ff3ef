#include "runtime/base/HalfArrays.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cleave::rt {

namespace {

template <typename T> void widenPlain(const T *source, float *target, size_t count) {
  for (size_t i = 0; i < count; ++i)
    target[i] = static_cast<float>(source[i]);
}
template <typename T> void narrowPlain(const float *source, T *target, size_t count) {
  for (size_t i = 0; i < count; ++i)
    target[i] = static_cast<T>(source[i]);
}

#if defined(__x86_64__)

#define CLEAVE_AVX2 __attribute__((target("avx2,f16c")))

CLEAVE_AVX2 void widenAvx2(const BFloat16 *source, float *target, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(source + i)));
    _mm256_storeu_ps(target + i, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)));
  }
  widenPlain(source + i, target + i, count - i);
}

CLEAVE_AVX2 void widenAvx2(const Float16 *source, float *target, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(source + i))));
  widenPlain(source + i, target + i, count - i);
}

// The upper halves after adding 0x7fff and the lowest bit that stays. For a NaN, the upper half made quiet.
CLEAVE_AVX2 __m256i roundToBFloat(__m256 value) {
  __m256i bits = _mm256_castps_si256(value), upper = _mm256_srli_epi32(bits, 16);
  __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), nan);
}

CLEAVE_AVX2 void narrowAvx2(const float *source, BFloat16 *target, size_t count) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i packed =
        _mm256_packus_epi32(roundToBFloat(_mm256_loadu_ps(source + i)), roundToBFloat(_mm256_loadu_ps(source + i + 8)));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(target + i), _mm256_permute4x64_epi64(packed, 0xd8));
  }
  narrowPlain(source + i, target + i, count - i);
}

CLEAVE_AVX2 void narrowAvx2(const float *source, Float16 *target, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 value = _mm256_loadu_ps(source + i);
    __m128i bits = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(target + i), bits);
    // The instruction keeps a NaN's payload, but Half.h does not. NaNs are rare, so a group with one is converted
    // again.
    if (_mm256_movemask_ps(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)) != 0)
      narrowPlain(source + i, target + i, 8);
  }
  narrowPlain(source + i, target + i, count - i);
}

bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}
#endif

template <typename T> void widenAny(const T *source, float *target, size_t count) {
#if defined(__x86_64__)
  if (hasAvx2())
    return widenAvx2(source, target, count);
#endif
  widenPlain(source, target, count);
}

template <typename T> void narrowAny(const float *source, T *target, size_t count) {
#if defined(__x86_64__)
  if (hasAvx2())
    return narrowAvx2(source, target, count);
#endif
  narrowPlain(source, target, count);
}

} // namespace

void widen(const BFloat16 *source, float *target, size_t count) { widenAny(source, target, count); }
void widen(const Float16 *source, float *target, size_t count) { widenAny(source, target, count); }
void narrow(const float *source, BFloat16 *target, size_t count) { narrowAny(source, target, count); }
void narrow(const float *source, Float16 *target, size_t count) { narrowAny(source, target, count); }

} // namespace cleave::rt
