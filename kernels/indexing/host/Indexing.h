// Reading and adding rows by index: `take` (ONNX Gather) and `put_add`, its gradient.
#ifndef CLEAVE_KERNELS_INDEXING_HOST_INDEXING_H
#define CLEAVE_KERNELS_INDEXING_HOST_INDEXING_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

struct IndexShape {
  int64_t outer, rows, inner, indices;

  static Status read(const KernelArgs &args, IndexShape *result);
  size_t tableElements() const { return static_cast<size_t>(outer * rows * inner); }
  size_t selectedElements() const { return static_cast<size_t>(outer * indices * inner); }
};

// Every index must lie in [-rows, rows); the error names the first that does not.
template <typename Index> Status checkIndices(const Index *index, int64_t count, int64_t rows) {
  for (int64_t i = 0; i < count; ++i)
    if (index[i] < -rows || index[i] >= rows)
      return invalidArgument("index " + std::to_string(index[i]) + " at position " + std::to_string(i) +
                             " is out of range; expected " + std::to_string(-rows) + " to " + std::to_string(rows - 1));
  return Status::ok();
}

template <typename Index> int64_t rowOf(Index index, int64_t rows) { return index < 0 ? index + rows : index; }

Status makeTake(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makePutAdd(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif
