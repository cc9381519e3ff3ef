// Pools and their gradients. params: planes count_pad, then a window at 2.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// The tap of an output's window that is its maximum, the first of equal ones; a NaN is larger than any number. -1 where
// all is padding.
template <typename T> __device__ Int maximumOf(const T *plane, const DeviceWindow &window, Int output) {
  using C = typename ComputeOf<T>::type;
  Int best = -1;
  C maximum = C();
  window.forEachTap(output, [&](Int input, Int) {
    C value = widened<C>(plane[input]);
    if (best < 0 || value > maximum || (value != value && maximum == maximum)) {
      best = input;
      maximum = value;
    }
  });
  return best;
}

template <typename T> __device__ void maxPool(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  DeviceWindow window(call, 2);
  Int in = window.inSize(), out = window.outSize();
  const T *x = buffer<T>(call, 0);
  T *y = buffer<T>(call, 1);
  CLEAVE_FOR_EACH(item, call.params[0] * out) {
    const T *plane = x + item / out * in;
    Int best = maximumOf(plane, window, item % out);
    y[item] = best < 0 ? rounded<T>(C(-INFINITY)) : plane[best];
  }
}

// A thread an input: the sum over the windows that have their maximum there, outputs in ascending order.
template <typename T> __device__ void maxPoolGrad(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  DeviceWindow window(call, 2);
  Int in = window.inSize(), out = window.outSize();
  const T *x = buffer<T>(call, 0), *dy = buffer<T>(call, 1);
  T *dx = buffer<T>(call, 2);
  CLEAVE_FOR_EACH(item, call.params[0] * in) {
    Int plane = item / in, input = item % in;
    C sum = C(0);
    window.forEachReader(input, [&](Int output, Int) {
      if (maximumOf(x + plane * in, window, output) == input)
        sum += widened<C>(dy[plane * out + output]);
    });
    dx[item] = rounded<T>(sum);
  }
}

// How many positions the mean of an output divides by.
__device__ inline Int positionsOf(const DeviceWindow &window, Int output, bool countPad) {
  Int at[3] = {output / (window.out[1] * window.out[2]), output / window.out[2] % window.out[1], output % window.out[2]};
  Int count = 1;
  for (int d = 0; d < 3; ++d) {
    Int low = countPad ? -window.padLow[d] : 0, high = window.in[d] + (countPad ? window.padHigh[d] : 0), taps = 0;
#pragma unroll 1
    for (Int k = 0; k < window.kernel[d]; ++k) {
      Int position = window.position(d, at[d], k);
      taps += position >= low && position < high;
    }
    count *= taps;
  }
  return count > 0 ? count : 1;
}

template <typename T> __device__ void averagePool(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  DeviceWindow window(call, 2);
  Int in = window.inSize(), out = window.outSize();
  const T *x = buffer<T>(call, 0);
  T *y = buffer<T>(call, 1);
  CLEAVE_FOR_EACH(item, call.params[0] * out) {
    C sum = C(0);
    window.forEachTap(item % out, [&](Int input, Int) { sum += widened<C>(x[item / out * in + input]); });
    y[item] = rounded<T>(sum / static_cast<C>(positionsOf(window, item % out, call.params[1] != 0)));
  }
}

template <typename T> __device__ void averagePoolGrad(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  DeviceWindow window(call, 2);
  Int in = window.inSize(), out = window.outSize();
  const T *dy = buffer<T>(call, 0);
  T *dx = buffer<T>(call, 1);
  CLEAVE_FOR_EACH(item, call.params[0] * in) {
    C sum = C(0);
    window.forEachReader(item % in, [&](Int output, Int) {
      sum += widened<C>(dy[item / in * out + output]) /
             static_cast<C>(positionsOf(window, output, call.params[1] != 0));
    });
    dx[item] = rounded<T>(sum);
  }
}

} // namespace cleave::rt
