// column_sums: y[j] = sum over i of x[i, j]. params: rows columns isWide (y is f32, independent of x).
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// A block adds 32 columns with 8 lines of threads. Each line adds its rows in chains of f32, and the chains in f64.
// Then the sums of the lines are added in their order.
template <typename T> __device__ void columnSums(const CudaCall &call) {
  constexpr int kColumns = ColumnSumsWork::kColumns, kLines = 8, kChain = 64;
  __shared__ double partial[kLines][kColumns];
  Int rows = call.params[0], columns = call.params[1];
  const T *x = buffer<T>(call, 0);
  int lane = threadIdx.x % kColumns, line = threadIdx.x / kColumns;
  for (Int tile = blockIdx.x; tile * kColumns < columns; tile += gridDim.x) {
    Int column = tile * kColumns + lane;
    double total = 0;
    for (Int row = line; column < columns && row < rows;) {
      Int end = min(rows, row + kLines * kChain);
      float chain = 0;
      for (; row < end; row += kLines)
        chain += widened<float>(x[row * columns + column]);
      total += chain;
    }
    partial[line][lane] = total;
    __syncthreads();
    if (line == 0 && column < columns) {
      for (int other = 1; other < kLines; ++other)
        total += partial[other][lane];
      if (call.params[2] != 0)
        buffer<float>(call, 1)[column] = static_cast<float>(total);
      else
        buffer<T>(call, 1)[column] = rounded<T>(static_cast<float>(total));
    }
    __syncthreads(); // before the next tile's partial sums are written
  }
}

} // namespace cleave::rt
