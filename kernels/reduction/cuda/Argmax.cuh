// argmax. params: outer extent inner.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// Each thread computes an output. A NaN is larger than any number.
template <typename T> __device__ void argmax(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  Int outer = call.params[0], extent = call.params[1], inner = call.params[2];
  const T *x = buffer<T>(call, 0);
  Int *y = buffer<Int>(call, 1);
  CLEAVE_FOR_EACH(item, outer * inner) {
    const T *first = x + item / inner * extent * inner + item % inner;
    Int best = 0;
    C maximum = widened<C>(first[0]);
#pragma unroll 1
    for (Int i = 1; i < extent; ++i) {
      C value = widened<C>(first[i * inner]);
      if (value > maximum || (value != value && maximum == maximum)) {
        best = i;
        maximum = value;
      }
    }
    y[item] = best;
  }
}

} // namespace cleave::rt
