// take, pick, put_add and put: params batch outer rows inner indices. check_index: params count first end other.
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

template <typename Index> __device__ void checkIndex(const CudaCall &call) {
  const Index *x = buffer<Index>(call, 0);
  Index *y = buffer<Index>(call, 1);
  Int first = call.params[1], end = call.params[2], other = call.params[3];
  CLEAVE_FOR_EACH(item, call.params[0]) {
    Index number = x[item];
    if ((number < first || number >= end) && number != other)
      reportIndex(call, number);
    y[item] = number;
  }
}

// What becomes of an element and an update: -1 the update, 0 their sum, 1 the larger, 2 the smaller, 3 the product; of
// two numbers one of which is none, max and min give none.
template <typename C> __device__ C combined(Int combine, C element, C update) {
  switch (combine) {
  case 0:
    return element + update;
  case 1:
    return update > element || update != update ? update : element;
  case 2:
    return update < element || update != update ? update : element;
  default:
    return element * update;
  }
}

template <typename T> __device__ void combineInto(Int combine, T &element, T update) {
  using C = typename ComputeOf<T>::type;
  element = rounded<T>(combined(combine, widened<C>(element), widened<C>(update)));
}

// y holds x. A thread a column of a sample, all indices in ascending order: of few indices, or many samples. param 5 says
// how; kMoves where the update replaces the element, so that T is any type of its size.
template <typename T, typename Index, bool kMoves> __device__ void putEach(const CudaCall &call) {
  IndexParams s(call);
  const Index *index = buffer<Index>(call, 1);
  const T *update = buffer<T>(call, 2);
  T *y = buffer<T>(call, 3);
  CLEAVE_FOR_EACH(item, s.batch * s.outer * s.inner) {
    Int r = item % s.inner, o = item / s.inner;
#pragma unroll 1
    for (Int i = 0; i < s.indices; ++i) {
      Int row = rowOf(call, index[o / s.outer * s.indices + i], s.rows);
      if (row < 0)
        continue;
      T &target = y[(o * s.rows + row) * s.inner + r], source = update[(o * s.indices + i) * s.inner + r];
      if constexpr (kMoves)
        target = source;
      else
        combineInto(call.params[5], target, source);
    }
  }
}
template <typename T, typename Index> __device__ void put(const CudaCall &call) { putEach<T, Index, false>(call); }
template <typename T, typename Index> __device__ void putSet(const CudaCall &call) { putEach<T, Index, true>(call); }

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
#pragma unroll 1
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
#pragma unroll 1
          for (Int r = threadIdx.x; r < s.inner; r += blockDim.x)
            combineInto(0, target[r], source[r]);
        }
    }
  }
}

} // namespace cleave::rt
