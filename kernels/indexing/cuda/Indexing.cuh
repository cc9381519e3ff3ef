// take, pick and put: params batch outer rows inner indices. check_index: params count first end other.
#pragma once

#include "kernels/common/cuda/Device.cuh"

#include <type_traits>

namespace cleave::rt {

struct IndexParams {
  Int batch, outer, rows, inner, indices;
  __device__ explicit IndexParams(const CudaCall &call)
      : batch(call.params[0]), outer(call.params[1]), rows(call.params[2]), inner(call.params[3]),
        indices(call.params[4]) {}
};

// Copies rows of `inner` elements of type T. Count must hold the number of elements of y, and of threads.
template <typename T, typename Count, typename Index> __device__ void takeRows(const CudaCall &call, Int inner) {
  IndexParams s(call);
  const T *__restrict__ x = buffer<const T>(call, 0);
  const Index *__restrict__ index = buffer<const Index>(call, 1);
  T *__restrict__ y = buffer<T>(call, 2);
  Count row = Count(inner), indices = Count(s.indices), outer = Count(s.outer), threads = Count(gridDim.x) * blockDim.x;
  Count items = Count(s.batch) * outer * indices * row;
  for (Count item = Count(blockIdx.x) * blockDim.x + threadIdx.x; item < items; item += threads) {
    Count to = item / row, o = s.batch * s.outer == 1 ? 0 : to / indices, sample = s.batch == 1 ? 0 : o / outer;
    Int from = rowOf(call, index[sample * indices + (to - o * indices)], s.rows);
    y[item] = from < 0 ? T() : x[(Int(o) * s.rows + from) * inner + Int(item - to * row)];
  }
}

// A thread copies 16 bytes of y if rows and addresses permit it, else an element. Items are divided in 32 bits if they
// fit.
template <typename T, typename Index> __device__ void take(const CudaCall &call) {
  IndexParams s(call);
  constexpr Int kFew = 1ll << 31;
  Int elements = s.batch * s.outer * s.indices * s.inner, inWide = s.inner * Int(sizeof(T)) / 16;
  size_t addresses = reinterpret_cast<size_t>(call.buffers[0]) | reinterpret_cast<size_t>(call.buffers[2]);
  if ((s.inner * sizeof(T) | addresses) % 16 == 0 && elements / (16 / Int(sizeof(T))) < kFew)
    takeRows<uint4, unsigned, Index>(call, inWide);
  else if (elements < kFew)
    takeRows<T, unsigned, Index>(call, s.inner);
  else
    takeRows<T, Int, Index>(call, s.inner);
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

// Combines an element with an update: -1 the update, 0 their sum, 1 the larger, 2 the smaller, 3 the product. If one of
// two numbers is NaN, so are their maximum and minimum. Sums and products of integers wrap around.
template <typename C> __device__ C combined(Int combine, C element, C update) {
  using Wrapping = std::conditional_t<std::is_integral_v<C>, unsigned long long, C>;
  switch (combine) {
  case 0:
    return static_cast<C>(static_cast<Wrapping>(element) + static_cast<Wrapping>(update));
  case 1:
    return update > element || update != update ? update : element;
  case 2:
    return update < element || update != update ? update : element;
  default:
    return static_cast<C>(static_cast<Wrapping>(element) * static_cast<Wrapping>(update));
  }
}

template <typename T> __device__ void combineInto(Int combine, T &element, T update) {
  using C = typename ComputeOf<T>::type;
  element = rounded<T>(combined(combine, widened<C>(element), widened<C>(update)));
}

// y must hold x. Each thread updates a column of a sample, for all indices in ascending order. It is for few indices,
// or many samples. param 5 is the combination. If kMoves, the update replaces the element, so T may be any type of this
// size.
template <typename T, typename Index, bool kMoves> __device__ void putEach(const CudaCall &call) {
  IndexParams s(call);
  const Index *__restrict__ index = buffer<const Index>(call, 1);
  const T *__restrict__ update = buffer<const T>(call, 2);
  T *__restrict__ y = buffer<T>(call, 3);
  CLEAVE_FOR_EACH(item, s.batch * s.outer * s.inner) {
    Int r = item % s.inner, o = item / s.inner;
    const Index *numbers = index + o / s.outer * s.indices;
    Index wrong = 0; // the first one that is out of range
    bool isWrong = false;
#pragma unroll 4
    for (Int i = 0; i < s.indices; ++i) {
      Index number = numbers[i];
      Int row = number < 0 ? Int(number) + s.rows : Int(number);
      T source = update[(o * s.indices + i) * s.inner + r];
      if (row < 0 || row >= s.rows) {
        wrong = isWrong ? wrong : number;
        isWrong = true;
        continue;
      }
      T &target = y[(o * s.rows + row) * s.inner + r];
      if constexpr (kMoves)
        target = source;
      else
        combineInto(call.params[5], target, source);
    }
    if (isWrong)
      reportIndex(call, wrong);
  }
}
template <typename T, typename Index> __device__ void put(const CudaCall &call) { putEach<T, Index, false>(call); }
template <typename T, typename Index> __device__ void putSet(const CudaCall &call) { putEach<T, Index, true>(call); }

} // namespace cleave::rt
