// top_k. params: outer extent count smallest.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// The order of the host's kernel. It is total, also with NaN, which is larger than any number. Of equal elements, the
// first one comes first.
template <typename T> struct Ranking {
  using C = typename ComputeOf<T>::type;
  const T *x;
  bool smallest;

  static __device__ bool isLarger(C a, C b) { return a > b || (a != a && b == b); }
  __device__ bool isBetter(Int i, Int j) const {
    C a = widened<C>(x[i]), b = widened<C>(x[j]);
    if (smallest ? isLarger(b, a) : isLarger(a, b))
      return true;
    return i < j && !(smallest ? isLarger(a, b) : isLarger(b, a));
  }
  // -1 means that there is no element yet.
  __device__ Int better(Int i, Int j) const { return i < 0 || (j >= 0 && isBetter(j, i)) ? j : i; }
};

// Each block handles a row. Each of `count` rounds finds the best element after the one of the round before.
template <typename T> __device__ void topK(const CudaCall &call) {
  __shared__ Int found[CudaCall::kBlockSize];
  Int outer = call.params[0], extent = call.params[1], count = call.params[2];
  for (Int row = blockIdx.x; row < outer; row += gridDim.x) {
    Ranking<T> ranking{buffer<T>(call, 0) + row * extent, call.params[3] != 0};
    Int last = -1;
    for (Int round = 0; round < count; ++round) {
      Int best = -1;
#pragma unroll 1
      for (Int i = threadIdx.x; i < extent; i += blockDim.x)
        if (last < 0 || ranking.isBetter(last, i))
          best = ranking.better(best, i);
      found[threadIdx.x] = best;
      __syncthreads();
      for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
          found[threadIdx.x] = ranking.better(found[threadIdx.x], found[threadIdx.x + half]);
        __syncthreads();
      }
      last = found[0];
      __syncthreads();
      if (threadIdx.x == 0)
        buffer<Int>(call, 1)[row * count + round] = last;
    }
  }
}

} // namespace cleave::rt
