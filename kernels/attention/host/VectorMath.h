// Vector code of the attention kernels, as templates over the element type and the processor's vectors
// (kernels/common/host/Vectors.h).
#ifndef CLEAVE_KERNELS_ATTENTION_HOST_VECTORMATH_H
#define CLEAVE_KERNELS_ATTENTION_HOST_VECTORMATH_H

#include "kernels/common/host/Vectors.h"

#include <cmath>

namespace cleave::rt {

// e^x for x <= 0 (from softmax), with an error of about an ulp; 0 below the smallest normal number. NaN stays NaN.
template <typename V> CLEAVE_VECTOR_CODE typename V::Vector powerOfE(typename V::Vector x) {
  using Vector = typename V::Vector;
  using Integers = typename V::Integers;
  if constexpr (sizeof(typename V::Number) == 8) {
    for (int64_t i = 0; i < V::kLanes; ++i)
      x[i] = std::exp(x[i]);
    return x;
  } else {
    const float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer, which is in the low bits
    Vector rounded = x * 1.44269504088896341f + magic;
    Vector n = rounded - magic;
    Vector r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    Integers bits;
    std::memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + (127 - 0x4b400000)) << 23;
    Vector power;
    std::memcpy(&power, &bits, sizeof power);
    Vector none = {};
    return x < -87.3f ? none : p * power;
  }
}

// c = a b, or c += a b if `adds`, for L lines of N vectors, in registers. Element (m, k) of a is a[m * lineStride + k *
// stepStride].
template <typename V, int L, int N>
CLEAVE_VECTOR_CODE void multiplyTile(typename V::Number *c, int64_t columnsOfC, const typename V::Number *a,
                                     int64_t lineStride, int64_t stepStride, const typename V::Number *b,
                                     int64_t columnsOfB, int64_t steps, bool adds) {
  typename V::Vector sums[L][N] = {};
  if (adds)
    for (int m = 0; m < L; ++m)
      for (int n = 0; n < N; ++n)
        sums[m][n] = loadVector<V>(c + m * columnsOfC + n * V::kLanes);
  for (int64_t k = 0; k < steps; ++k) {
    typename V::Vector line[N];
    for (int n = 0; n < N; ++n)
      line[n] = loadVector<V>(b + k * columnsOfB + n * V::kLanes);
#pragma GCC unroll 8
    for (int m = 0; m < L; ++m)
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n)
        sums[m][n] += line[n] * a[m * lineStride + k * stepStride];
  }
  for (int m = 0; m < L; ++m)
    for (int n = 0; n < N; ++n)
      storeVector<V>(c + m * columnsOfC + n * V::kLanes, sums[m][n]);
}

template <typename V, int N>
CLEAVE_VECTOR_CODE void multiplyColumns(typename V::Number *c, int64_t columnsOfC, int64_t lines,
                                        const typename V::Number *a, int64_t lineStride, int64_t stepStride,
                                        const typename V::Number *b, int64_t columnsOfB, int64_t steps, bool adds) {
  int64_t m = 0;
  for (; m + V::kLines <= lines; m += V::kLines)
    multiplyTile<V, V::kLines, N>(c + m * columnsOfC, columnsOfC, a + m * lineStride, lineStride, stepStride, b,
                                  columnsOfB, steps, adds);
  for (; m < lines; ++m)
    multiplyTile<V, 1, N>(c + m * columnsOfC, columnsOfC, a + m * lineStride, lineStride, stepStride, b, columnsOfB,
                          steps, adds);
}

// c[lines, columns] = a[lines, steps] b[steps, columns], or += if `adds`. `columns` must be a multiple of a vector.
// Each element is summed in ascending k, independent of the tile.
template <typename V>
CLEAVE_VECTOR_CODE void multiply(typename V::Number *c, int64_t columnsOfC, int64_t lines, int64_t columns,
                                 const typename V::Number *a, int64_t lineStride, int64_t stepStride,
                                 const typename V::Number *b, int64_t columnsOfB, int64_t steps, bool adds) {
  int64_t n = 0;
  constexpr int64_t wide = V::kVectors * V::kLanes;
  for (; n + wide <= columns; n += wide)
    multiplyColumns<V, V::kVectors>(c + n, columnsOfC, lines, a, lineStride, stepStride, b + n, columnsOfB, steps,
                                    adds);
  for (; n < columns; n += V::kLanes)
    multiplyColumns<V, 1>(c + n, columnsOfC, lines, a, lineStride, stepStride, b + n, columnsOfB, steps, adds);
}

} // namespace cleave::rt

#endif
