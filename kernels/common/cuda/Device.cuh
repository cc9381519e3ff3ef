// Code that all CUDA kernels share: element types, loops over work items, error reports, windows.
#pragma once

#include "kernels/common/cuda/Call.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cleave::rt {

using Int = long long;

// 16-bit types are computed in f32, and rounded when they are stored.
template <typename T> struct ComputeOf {
  using type = T;
};
template <> struct ComputeOf<__half> {
  using type = float;
};
template <> struct ComputeOf<__nv_bfloat16> {
  using type = float;
};

template <typename C, typename T> __device__ C widened(T value) { return static_cast<C>(value); }
template <typename T, typename C> __device__ T rounded(C value) { return static_cast<T>(value); }

template <typename T> __device__ T *buffer(const CudaCall &call, int number) {
  return static_cast<T *>(call.buffers[number]);
}

// Loops over the work items of a thread. A launch with any number of blocks does all items.
#define CLEAVE_FOR_EACH(item, count)                                                                                   \
  for (Int item = Int(blockIdx.x) * blockDim.x + threadIdx.x; item < (count); item += Int(gridDim.x) * blockDim.x)

// Reports an index out of range. Only the first report is kept.
__device__ inline void reportIndex(const CudaCall &call, Int index) {
  if (atomicCAS(reinterpret_cast<unsigned long long *>(call.error), 0ull, static_cast<unsigned long long>(call.launch)) ==
      0)
    call.error[1] = index;
}

// Returns the row that an index names; a negative index counts from the end. If there is no such row, reports the index
// and returns -1.
template <typename Index> __device__ Int rowOf(const CudaCall &call, Index index, Int rows) {
  Int row = index < 0 ? Int(index) + rows : Int(index);
  if (row >= 0 && row < rows)
    return row;
  reportIndex(call, index);
  return -1;
}

// The geometry of a window in three dimensions, read from params[at...] as kernels/common/cuda/CudaKernel.cpp writes
// them. Loops over windows are not unrolled, because there are many kernels and their PTX is in each program.
struct DeviceWindow {
  Int in[3], out[3], kernel[3], stride[3], dilation[3], padLow[3], padHigh[3];

  __device__ DeviceWindow(const CudaCall &call, int at) {
    const Int *p = call.params + at;
    for (int d = 0; d < 3; ++d) {
      in[d] = p[d], out[d] = p[3 + d], kernel[d] = p[6 + d], stride[d] = p[9 + d], dilation[d] = p[12 + d];
      padLow[d] = p[15 + d], padHigh[d] = p[18 + d];
    }
  }
  __device__ Int inSize() const { return in[0] * in[1] * in[2]; }
  __device__ Int outSize() const { return out[0] * out[1] * out[2]; }
  __device__ Int kernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
  // The input position of tap k of output o on one dimension. It may be in the padding.
  __device__ Int position(int d, Int o, Int k) const { return o * stride[d] - padLow[d] + k * dilation[d]; }
  // The output whose tap k reads input i on one dimension; -1 if there is none.
  __device__ Int outputOf(int d, Int i, Int k) const {
    Int from = i + padLow[d] - k * dilation[d];
    if (from < 0 || from % stride[d] != 0 || from / stride[d] >= out[d])
      return -1;
    return from / stride[d];
  }
  // Calls visit(input index, kernel index) for each tap of an output that is not in the padding, row-major.
  template <typename Visit> __device__ void forEachTap(Int output, Visit visit) const {
    Int ow = output % out[2], oh = output / out[2] % out[1], od = output / (out[1] * out[2]);
#pragma unroll 1
    for (Int kd = 0; kd < kernel[0]; ++kd)
#pragma unroll 1
      for (Int kh = 0; kh < kernel[1]; ++kh)
#pragma unroll 1
        for (Int kw = 0; kw < kernel[2]; ++kw) {
          Int d = position(0, od, kd), h = position(1, oh, kh), w = position(2, ow, kw);
          if (d >= 0 && d < in[0] && h >= 0 && h < in[1] && w >= 0 && w < in[2])
            visit((d * in[1] + h) * in[2] + w, (kd * kernel[1] + kh) * kernel[2] + kw);
        }
  }
  // Calls visit(output index, kernel index) for each output that reads an input. Outputs ascend while taps descend.
  template <typename Visit> __device__ void forEachReader(Int input, Visit visit) const {
    Int w = input % in[2], h = input / in[2] % in[1], d = input / (in[1] * in[2]);
#pragma unroll 1
    for (Int kd = kernel[0] - 1; kd >= 0; --kd)
#pragma unroll 1
      for (Int kh = kernel[1] - 1; kh >= 0; --kh)
#pragma unroll 1
        for (Int kw = kernel[2] - 1; kw >= 0; --kw) {
          Int od = outputOf(0, d, kd), oh = outputOf(1, h, kh), ow = outputOf(2, w, kw);
          if (od >= 0 && oh >= 0 && ow >= 0)
            visit((od * out[1] + oh) * out[2] + ow, (kd * kernel[1] + kh) * kernel[2] + kw);
        }
  }
};

} // namespace cleave::rt
