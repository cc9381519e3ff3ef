// The workspace of a library inside of a plan's scratch. It begins on a multiple of 256 bytes, like memory of the
// library's own allocator, and has the same size in all frames. The plan's scratch includes the bytes that are skipped
// for that (cudaScratchBytes).
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_WORKSPACE_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_WORKSPACE_H

#include "kernels/common/cuda/CudaKernel.h"
#include "runtime/device/Device.h"

#include <algorithm>

namespace cleave::rt {

class Workspace {
public:
  explicit Workspace(const Address &scratch) : scratch_(scratch) {}
  size_t bytes() const {
    return scratch_.bytes - std::min<size_t>(scratch_.bytes, kWorkspaceAlignment - kScratchAlignment);
  }
  void *at(const Frames &frames) const {
    uintptr_t begin = reinterpret_cast<uintptr_t>(scratch_.at(frames));
    return reinterpret_cast<void *>((begin + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment);
  }

private:
  Address scratch_;
};

} // namespace cleave::rt

#endif
