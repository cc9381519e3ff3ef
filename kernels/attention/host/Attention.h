// Attention and its gradient on the host. Scores are computed tile by tile and never stored (FlashAttention-2, Dao
// 2023, arXiv 2307.08691).
//
// A tile is 64 rows by 64 columns of the scores, and it is transposed: columns (keys) are the tile's lines, and rows
// (queries) are next to each other in vectors. So maxima, sums and factors of rows are vectors too, no sum goes across
// a vector, and keys and values are read as they are in memory:
//
//   S^T [64 keys, 64 queries] = K [64, depth] * Q^T [depth, 64]       Q^T is made once for a tile of queries
//   O^T [width, 64 queries]  += V^T [width, 64] * P^T [64, 64]        V^T is V, read by columns
//
// In the forward kernel, an item of work is a few tiles of queries of a head; in the backward kernel it is a head. One
// thread computes an item in one order, so the number of threads changes no bit. Scratch is linear in rows and columns.
#ifndef CLEAVE_KERNELS_ATTENTION_HOST_ATTENTION_H
#define CLEAVE_KERNELS_ATTENTION_HOST_ATTENTION_H

#include "kernels/common/host/HostKernel.h"

#include <algorithm>

namespace cleave::rt {

// The parameters of Kernels.def, checked.
struct AttentionShape {
  static constexpr int64_t kTile = 64; // rows and columns of a tile

  int64_t batch, heads, rows, columns, depth, width;
  bool causal, hasMask, hasDropout;
  double scale, fill, rate;
  int64_t dropThreshold; // numbers of 24 bits below the threshold drop
  int64_t mask[4];       // sizes
  fb::DType dtype, sumDtype, maskDtype;

  static Status read(const KernelArgs &args, AttentionShape *result);
  int64_t items() const { return batch * heads; }
  bool isBooleanMask() const { return hasMask && maskDtype == fb::DType::boolean; }
  // The number of columns that some of the rows [first, first + kTile) see.
  int64_t columnsOf(int64_t first) const { return causal ? std::min(columns, first + kTile) : columns; }
  // The offset of a head's mask, and its strides from row to row and from column to column; 0 if all have the same
  // mask.
  int64_t maskOffset(int64_t item) const;
  int64_t maskRowStride() const { return mask[2] == 1 ? 0 : mask[3]; }
  int64_t maskColumnStride() const { return mask[3] == 1 ? 0 : 1; }
  // The index of dropout's first buffer, and the number of buffers with which both kernels begin.
  size_t dropoutBuffer() const { return hasMask ? 4 : 3; }
  size_t buffersInCommon() const { return dropoutBuffer() + (hasDropout ? 3 : 0); }
  // Appends the bytes of the buffers of mask and dropout.
  void addBufferBytes(std::vector<size_t> *bytes) const;

private:
  Status readMask(const KernelArgs &args, fb::DType computed);
  Status readDropout(const KernelArgs &args);
};

Status makeAttention(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeAttentionGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif
