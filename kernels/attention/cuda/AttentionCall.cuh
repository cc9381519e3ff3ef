// What attention's kernels are called with, and tiles in shared memory.
// params: batch heads rows columns depth width causal scale fill mask-kind mask-sizes[4] rate; scale, fill and rate are
// the bits of doubles.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// The 256 threads of a block are 16 x 16: thread (y, x) has the elements (y + 16 i, x + 16 j) of what is computed.
struct AttentionCall {
  static constexpr int kMostSize = 128, kSide = 16, kColumns = kMostSize / kSide;
  static constexpr int kRate = 14; // of params
  enum MaskKind { kNone, kAdded, kKept };

  Int heads, items;
  int rows, columns, depth, width; // fewer than 2^31 (CudaKernel.cpp)
  bool causal;
  float scale, fill;
  int maskKind, after; // after: the number of the buffer after mask and dropout
  Int mask[4], maskRowStride, maskBegin = 0;
  int maskColumns; // 0 where all columns have one mask, else all bits
  const void *masks;

  __device__ AttentionCall(const CudaCall &call, bool drops) {
    const Int *p = call.params;
    heads = p[1], items = p[0] * p[1];
    rows = int(p[2]), columns = int(p[3]), depth = int(p[4]), width = int(p[5]), causal = p[6] != 0;
    scale = static_cast<float>(__longlong_as_double(p[7])), fill = static_cast<float>(__longlong_as_double(p[8]));
    maskKind = int(p[9]), after = (maskKind == kNone ? 3 : 4) + (drops ? 3 : 0);
    for (int d = 0; d < 4; ++d)
      mask[d] = p[10 + d];
    maskRowStride = mask[2] == 1 ? 0 : mask[3], maskColumns = mask[3] == 1 ? 0 : -1;
    masks = call.buffers[3];
  }

  // The head that masks are of from here on.
  __device__ void setItem(Int item) {
    Int sample = mask[0] == 1 ? 0 : item / heads, head = mask[1] == 1 ? 0 : item % heads;
    maskBegin = (sample * mask[1] + head) * mask[2] * mask[3];
  }
  // Where the mask of a row begins.
  __device__ Int maskOf(int row) const { return maskBegin + row * maskRowStride; }
  __device__ bool isScore(int row, int column) const {
    return row < rows && column < columns && !(causal && column > row);
  }
  // Of a product that is a score, of a row whose mask begins there; with whether the mask has replaced it.
  __device__ float masked(float product, Int rowMask, int column, bool *isReplaced) const {
    float value = product * scale;
    *isReplaced = false;
    if (maskKind == kNone)
      return value;
    Int at = rowMask + (column & maskColumns);
    if (maskKind == kAdded)
      return value + static_cast<const float *>(masks)[at];
    if (static_cast<const unsigned char *>(masks)[at])
      return value;
    *isReplaced = true;
    return fill;
  }
  // -inf where it is none.
  __device__ float score(float product, int row, Int rowMask, int column) const {
    bool isReplaced;
    return isScore(row, column) ? masked(product, rowMask, column, &isReplaced) : -INFINITY;
  }
};

// A tile of rows of a head's tensor in shared memory; a line is one number longer, so that lines begin in other banks.
template <typename T, int Tile> struct AttentionTile {
  static constexpr int kLine = AttentionCall::kMostSize + (sizeof(T) == 2 ? 2 : 1);
  T values[Tile][kLine];

  // Zeros where there are no rows.
  __device__ void load(const T *from, int first, int rows, int size) {
#pragma unroll 1
    for (int e = threadIdx.x; e < Tile * size; e += blockDim.x) {
      int r = e / size, i = e % size;
      values[r][i] = first + r < rows ? from[Int(first + r) * size + i] : rounded<T>(0.0f);
    }
  }
  __device__ float at(int r, int i) const { return widened<float>(values[r][i]); }
};

// The sum, or the largest, of what the 16 threads of a line have.
__device__ inline float sumOfLine(float value) {
  for (int step = 8; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
__device__ inline float maximumOfLine(float value) {
  for (int step = 8; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

} // namespace cleave::rt
