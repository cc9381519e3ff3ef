// take, pick, put_add and put. params: batch outer rows inner indices.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

struct IndexParams {
  Int batch, outer, rows, inner, indices;
  __device__ explicit IndexParams(const CudaCall &call)
      : batch(call.params[0]), outer(call.params[1]), rows(call.params[2]), inner(call.params[3]),
        indices(call.params[4]) {}
};

// A thread an element of y.
template <typename T, typename Index> __device__ void take(const CudaCall &call) {
  IndexParams s(call);
  const T *x = buffer<T>(call, 0);
  const Index *index = buffer<Index>(call, 1);
  T *y = buffer<T>(call, 2);
  CLEAVE_FOR_EACH(item, s.batch * s.outer * s.indices * s.inner) {
    Int r = item % s.inner, i = item / s.inner % s.indices, o = item / (s.inner * s.indices);
    Int row = rowOf(call, index[o / s.outer * s.indices + i], s.rows);
    y[item] = row < 0 ? T() : x[(o * s.rows + row) * s.inner + r];
  }
}

struct Set {
  template <typename C> __device__ static C combine(C, C update) { return update; }
};
struct Add {
  template <typename C> __device__ static C combine(C element, C update) { return element + update; }
};
struct Multiply {
  template <typename C> __device__ static C combine(C element, C update) { return element * update; }
};
struct Max { // NaN wins
  template <typename C> __device__ static C combine(C element, C update) {
    return update > element || update != update ? update : element;
  }
};
struct Min {
  template <typename C> __device__ static C combine(C element, C update) {
    return update < element || update != update ? update : element;
  }
};

template <typename T, typename Combine> __device__ void combineInto(T &element, T update) {
  using C = typename ComputeOf<T>::type;
  element = rounded<T>(Combine::combine(widened<C>(element), widened<C>(update)));
}

// y holds x. A thread a column of a sample, all indices in ascending order: of few indices, or many samples.
template <typename T, typename Index, typename Combine> __device__ void put(const CudaCall &call) {
  IndexParams s(call);
  const Index *index = buffer<Index>(call, 1);
  const T *update = buffer<T>(call, 2);
  T *y = buffer<T>(call, 3);
  CLEAVE_FOR_EACH(item, s.batch * s.outer * s.inner) {
    Int r = item % s.inner, o = item / s.inner;
    for (Int i = 0; i < s.indices; ++i) {
      Int row = rowOf(call, index[o / s.outer * s.indices + i], s.rows);
      if (row >= 0)
        combineInto<T, Combine>(y[(o * s.rows + row) * s.inner + r], update[(o * s.indices + i) * s.inner + r]);
    }
  }
}

// combine is param 5: sum, max, min, product.
template <typename T, typename Index> __device__ void putCombined(const CudaCall &call) {
  switch (call.params[5]) {
  case 0:
    return put<T, Index, Add>(call);
  case 1:
    return put<T, Index, Max>(call);
  case 2:
    return put<T, Index, Min>(call);
  default:
    return put<T, Index, Multiply>(call);
  }
}

// y holds x. A block an index; that of a row's first index adds the updates of all that name the row, in ascending
// order. So each row is written by one block, and the order of addition is fixed.
template <typename T, typename Index> __device__ void putAdd(const CudaCall &call) {
  IndexParams s(call);
  const Index *index = buffer<Index>(call, 1);
  const T *update = buffer<T>(call, 2);
  T *y = buffer<T>(call, 3);
  __shared__ unsigned matches[32];
  for (Int item = blockIdx.x; item < s.outer * s.indices; item += gridDim.x) {
    Int o = item / s.indices, i = item % s.indices, row = rowOf(call, index[i], s.rows);
    bool found = row < 0;
    for (Int j = threadIdx.x; j < i && !found; j += blockDim.x)
      found = rowOf(call, index[j], s.rows) == row;
    if (__syncthreads_or(found))
      continue;
    T *target = y + (o * s.rows + row) * s.inner;
    for (Int base = i; base < s.indices; base += blockDim.x) {
      Int j = base + threadIdx.x;
      unsigned mask = __ballot_sync(~0u, j < s.indices && rowOf(call, index[j], s.rows) == row);
      __syncthreads();
      if (threadIdx.x % 32 == 0)
        matches[threadIdx.x / 32] = mask;
      __syncthreads();
      for (unsigned warp = 0; warp < blockDim.x / 32; ++warp)
        for (unsigned left = matches[warp]; left != 0; left &= left - 1) {
          const T *source = update + (o * s.indices + base + warp * 32 + __ffs(left) - 1) * s.inner;
          for (Int r = threadIdx.x; r < s.inner; r += blockDim.x)
            combineInto<T, Add>(target[r], source[r]);
        }
    }
  }
}

} // namespace cleave::rt
