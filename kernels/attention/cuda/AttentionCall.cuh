// The parameters of attention's kernels, and tiles in shared memory. params: batch heads rows columns depth width
// causal scale fill mask-kind mask-sizes[4] rate. Scale, fill and rate are the bits of doubles.
#pragma once

#include "kernels/common/cuda/Device.cuh"

namespace cleave::rt {

// The 256 threads of a block are 16 x 16: thread (y, x) computes the elements (y + 16 i, x + 16 j).
struct AttentionCall : AttentionWork {
  static constexpr int kSide = 16, kColumns = kMostSize / kSide;

  Int heads, items;
  int rows, columns, depth, width; // less than 2^31 (CudaKernel.cpp)
  bool causal;
  float scale, fill;
  int maskKind, after; // after: index of the first buffer after those of mask and dropout
  Int mask[4], maskRowStride, maskBegin = 0;
  int maskColumns; // 0 if all columns have the same mask, else all bits
  const void *masks;

  __device__ AttentionCall(const CudaCall &call, bool drops) {
    const Int *p = call.params;
    heads = p[1], items = p[0] * p[1];
    rows = int(p[2]), columns = int(p[3]), depth = int(p[4]), width = int(p[5]), causal = p[6] != 0;
    scale = static_cast<float>(__longlong_as_double(p[7])), fill = static_cast<float>(__longlong_as_double(p[8]));
    maskKind = int(p[kMaskKind]), after = (maskKind == kNone ? 3 : 4) + (drops ? 3 : 0);
    for (int d = 0; d < 4; ++d)
      mask[d] = p[kMaskSizes + d];
    maskRowStride = mask[2] == 1 ? 0 : mask[3], maskColumns = mask[3] == 1 ? 0 : -1;
    masks = call.buffers[3];
  }

  // Sets the head whose mask the following calls read.
  __device__ void setItem(Int item) {
    Int sample = mask[0] == 1 ? 0 : item / heads, head = mask[1] == 1 ? 0 : item % heads;
    maskBegin = (sample * mask[1] + head) * mask[2] * mask[3];
  }
  // The offset of a row's mask.
  __device__ Int maskOf(int row) const { return maskBegin + row * maskRowStride; }
  __device__ bool isScore(int row, int column) const {
    return row < rows && column < columns && !(causal && column > row);
  }
  // The score of a product, which must be a score (isScore). `rowMask` is the offset of the row's mask. `isReplaced`
  // says whether the mask has replaced the score.
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
  // The same; -inf if there is no score.
  __device__ float score(float product, int row, Int rowMask, int column) const {
    bool isReplaced;
    return isScore(row, column) ? masked(product, rowMask, column, &isReplaced) : -INFINITY;
  }
};

// A tile of rows of a head's tensor in shared memory. A line has one more 32-bit word, so that lines begin in different
// banks.
template <typename T, int Tile> struct AttentionTile {
  static constexpr int kLine = AttentionCall::kMostSize + (sizeof(T) == 2 ? 2 : 1);
  T values[Tile][kLine];

  // Rows after the last one become zeros.
  __device__ void load(const T *from, int first, int rows, int size) {
#pragma unroll 1
    for (int e = threadIdx.x; e < Tile * size; e += blockDim.x) {
      int r = e / size, i = e % size;
      values[r][i] = first + r < rows ? from[Int(first + r) * size + i] : rounded<T>(0.0f);
    }
  }
  __device__ float at(int r, int i) const { return widened<float>(values[r][i]); }
};

// The sum, or the largest, of the values of the 16 threads of a line.
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
