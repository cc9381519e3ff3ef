// Kernels that read, add and replace rows by index: `take` and `pick` (ONNX Gather and its relatives), `put_add` and
// `put`. `check_index` checks numbers that none of these kernels checks.
#ifndef CLEAVE_KERNELS_INDEXING_HOST_INDEXING_H
#define CLEAVE_KERNELS_INDEXING_HOST_INDEXING_H

#include "kernels/common/host/HostKernel.h"
#include "kernels/indexing/NumberRange.h"

namespace cleave::rt {

// A table [batch, outer, rows, inner], and indices [batch, indices] of its rows. take and put_add have a batch of 1.
struct IndexShape {
  int64_t batch, outer, rows, inner, indices;

  static Status read(const KernelArgs &args, IndexShape *result);
  size_t tableElements() const { return static_cast<size_t>(batch * outer * rows * inner); }
  size_t selectedElements() const { return static_cast<size_t>(batch * outer * indices * inner); }
  size_t allIndices() const { return static_cast<size_t>(batch * indices); }
};

// Fails unless every index is in [-rows, rows). The error names the first one that is not.
template <typename Index> Status checkIndices(const Index *index, const IndexShape &shape) {
  int64_t rows = shape.rows;
  for (size_t i = 0; i < shape.allIndices(); ++i)
    if (index[i] < -rows || index[i] >= rows)
      return invalidArgument("index " + std::to_string(index[i]) + " at position " + std::to_string(i) +
                             " is out of range; expected " + std::to_string(-rows) + " to " + std::to_string(rows - 1));
  return Status::ok();
}

template <typename Index> int64_t rowOf(Index index, int64_t rows) { return index < 0 ? index + rows : index; }

Status makeTake(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makePutAdd(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeCheckIndex(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makePut(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif
