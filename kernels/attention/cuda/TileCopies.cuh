// Copies of tiles from global to shared memory that run while earlier tiles are used (cp.async). A group of copies is
// closed, and later waited for.
#pragma once

#include "kernels/attention/cuda/Wgmma.cuh"

namespace cleave::rt {

__device__ inline void closeCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for the copies of this thread, except the latest `Left` groups.
template <int Left> __device__ void waitForCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory"); }

// Copies rows of a head's tensor to swizzled tiles (SwizzledPlace). Of each tile, this thread copies the same 16 bytes
// of every kStep-th row. Elements outside of the tensor become zeros. If IsWhole, rows have Size elements and are
// aligned.
template <typename T, int Size, bool IsWhole> struct TileCopies {
  static constexpr int kChunks = Size / 8, kStep = CudaCall::kBlockSize / kChunks;
  const T *from; // this thread's chunk of the next tile's first rows
  int thread;

  __device__ int row() const { return thread / kChunks; }
  __device__ int chunk() const { return thread % kChunks; }
  __device__ void begin(int number, const T *tensor, int first, int size) {
    thread = number;
    from = tensor + Int(first + row()) * (IsWhole ? Size : size) + chunk() * 8;
  }
  // `rows`: rows that exist, from the tile's first row on.
  template <int Rows> __device__ void next(unsigned tile, int rows, int size, bool isAligned) {
    const int left = size - chunk() * 8; // elements to the end of the row
    const unsigned at = tile + chunk() / 8 * (Rows * 128) + row() * 128 + ((chunk() % 8) ^ (row() % 8)) * 16;
    const Int step = IsWhole ? Size : size;
    rows -= row();
    if (IsWhole || isAligned) {
#pragma unroll
      for (int r = 0; r < Rows; r += kStep) {
        const int bytes = r < rows && (IsWhole || left > 0) ? 16 : 0;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at + r * 128), "l"(from + r * step),
                     "r"(bytes)
                     : "memory");
      }
    } else {
#pragma unroll 1
      for (int r = 0; r < Rows; r += kStep)
#pragma unroll 1
        for (int k = 0; k < 8; ++k) {
          const T value = r < rows && k < left ? from[r * step + k] : rounded<T>(0.0f);
          asm volatile("st.shared.b16 [%0], %1;" ::"r"(at + r * 128 + k * 2),
                       "h"(reinterpret_cast<const unsigned short &>(value))
                       : "memory");
        }
    }
    from += Rows * step;
  }
};

} // namespace cleave::rt
