// Direct loops for convolution and its gradients. They are right for every window, and slow. params: n ic oc groups,
// then a window at 4.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

struct ConvolutionShape {
  Int n, ic, oc, groups, groupIn, groupOut;
  DeviceWindow window;
  __device__ explicit ConvolutionShape(const CudaCall &call)
      : n(call.params[0]), ic(call.params[1]), oc(call.params[2]), groups(call.params[3]), groupIn(ic / groups),
        groupOut(oc / groups), window(call, 4) {}
};

// Each thread computes an element of y[n, oc, out...].
template <typename T> __device__ void convolution(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  ConvolutionShape s(call);
  Int in = s.window.inSize(), out = s.window.outSize(), taps = s.window.kernelSize();
  const T *x = buffer<T>(call, 0), *w = buffer<T>(call, 1);
  T *y = buffer<T>(call, 2);
  CLEAVE_FOR_EACH(item, s.n * s.oc * out) {
    Int oc = item / out % s.oc, n = item / (out * s.oc);
    C sum = C(0);
#pragma unroll 1
    for (Int c = 0; c < s.groupIn; ++c) {
      const T *plane = x + (n * s.ic + oc / s.groupOut * s.groupIn + c) * in, *weights = w + (oc * s.groupIn + c) * taps;
      C part = C(0); // short sums keep the error small
      s.window.forEachTap(item % out,
                          [&](Int input, Int tap) { part += widened<C>(plane[input]) * widened<C>(weights[tap]); });
      sum += part;
    }
    y[item] = rounded<T>(sum);
  }
}

// Each thread computes an element of dx[n, ic, in...].
template <typename T> __device__ void convolutionInputGrad(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  ConvolutionShape s(call);
  Int in = s.window.inSize(), out = s.window.outSize(), taps = s.window.kernelSize();
  const T *dy = buffer<T>(call, 0), *w = buffer<T>(call, 1);
  T *dx = buffer<T>(call, 2);
  CLEAVE_FOR_EACH(item, s.n * s.ic * in) {
    Int ic = item / in % s.ic, n = item / (in * s.ic), group = ic / s.groupIn;
    C sum = C(0);
#pragma unroll 1
    for (Int c = 0; c < s.groupOut; ++c) {
      Int oc = group * s.groupOut + c;
      const T *plane = dy + (n * s.oc + oc) * out, *weights = w + (oc * s.groupIn + ic % s.groupIn) * taps;
      C part = C(0);
      s.window.forEachReader(item % in,
                             [&](Int output, Int tap) { part += widened<C>(plane[output]) * widened<C>(weights[tap]); });
      sum += part;
    }
    dx[item] = rounded<T>(sum);
  }
}

// Each block computes an element of dw[oc, ic/groups, kernel...]. Its 256 threads share the sum over samples and
// outputs.
template <typename T> __device__ void convolutionWeightGrad(const CudaCall &call) {
  using C = typename ComputeOf<T>::type;
  ConvolutionShape s(call);
  const DeviceWindow &window = s.window;
  Int in = window.inSize(), out = window.outSize(), taps = window.kernelSize();
  const T *x = buffer<T>(call, 0), *dy = buffer<T>(call, 1);
  T *dw = buffer<T>(call, 2);
  __shared__ C sums[CudaCall::kBlockSize];
  for (Int item = blockIdx.x; item < s.oc * s.groupIn * taps; item += gridDim.x) {
    Int tap = item % taps, c = item / taps % s.groupIn, oc = item / (taps * s.groupIn);
    Int k[3] = {tap / (window.kernel[1] * window.kernel[2]), tap / window.kernel[2] % window.kernel[1],
                tap % window.kernel[2]};
    C sum = C(0);
#pragma unroll 1
    for (Int at = threadIdx.x; at < s.n * out; at += blockDim.x) {
      Int n = at / out, output = at % out;
      Int d = window.position(0, output / (window.out[1] * window.out[2]), k[0]);
      Int h = window.position(1, output / window.out[2] % window.out[1], k[1]);
      Int w = window.position(2, output % window.out[2], k[2]);
      if (d < 0 || d >= window.in[0] || h < 0 || h >= window.in[1] || w < 0 || w >= window.in[2])
        continue;
      const T *plane = x + (n * s.ic + oc / s.groupOut * s.groupIn + c) * in;
      sum += widened<C>(plane[(d * window.in[1] + h) * window.in[2] + w]) *
             widened<C>(dy[(n * s.oc + oc) * out + output]);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half)
        sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0)
      dw[item] = rounded<T>(sums[0]);
    __syncthreads();
  }
}

} // namespace cleave::rt
