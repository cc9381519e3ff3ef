// The kernels of Kernels.def on a GPU: which of them exist, and how the hand-written ones are called. This file needs
// no CUDA to be compiled: the compiler asks which kernels it may plan, and the device (runtime/device/cuda) launches
// them.
#ifndef CLEAVE_KERNELS_COMMON_CUDA_CUDAKERNEL_H
#define CLEAVE_KERNELS_COMMON_CUDA_CUDAKERNEL_H

#include "kernels/common/cuda/Call.h"
#include "runtime/base/Status.h"
#include "runtime/plan/KernelDefs.h"

#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// The call of an entry of Kernels.cu, without its buffers.
struct CudaKernelCall {
  static constexpr unsigned kBlockSize = CudaCall::kBlockSize;
  std::string function;
  const char *(*image)() = nullptr; // the PTX with the function: a module of the device, loaded when it is first called
  uint64_t blocks = 0; // blocks that have work; fewer blocks do the same work
  long long params[CudaCall::kParams] = {};
  // If `target` is not negative, the kernel changes that buffer in place, and `source` must be copied into it before.
  int source = -1, target = -1;
  std::string expected; // the indices that the kernel accepts, for messages
};

// Reads the parameters of a kernel. Fails, with its name, if there is no such kernel for GPUs, or not for its types.
Status cudaKernelArgs(std::string_view name, const std::vector<int64_t> &params, KernelArgs *args);
// A library's workspace must begin at a multiple of this. A plan's scratch begins at a multiple of kScratchAlignment,
// and has enough bytes to skip the rest.
inline constexpr uint64_t kWorkspaceAlignment = 256;
// The bytes of the kernel's buffer `scratch`; 0 if it has none.
Status cudaScratchBytes(const KernelArgs &args, uint64_t *bytes);
// True if cuBLASLt computes it.
bool isProduct(const KernelDef &def);
// Describes the kernel that sums the columns of buffer `source` into `target`, for a product that gives these sums with
// its result, if the library does not compute them.
Status cudaColumnSums(const KernelArgs &args, CudaKernelCall *call);
// Describes the call of a kernel. Not for products (matmul), which cuBLASLt computes.
Status cudaKernelCall(const KernelArgs &args, CudaKernelCall *call);

// The PTX of Kernels.cu, and that of attention's kernels without and with dropout. Each of these two has as much code
// as all others together. They are separate modules because a driver always compiles a whole module. The texts end with
// NUL, and are empty if there was no CUDA compiler when Cleave was built.
const char *cudaKernelImage();
const char *cudaAttentionImage();
const char *cudaAttentionDropoutImage();

} // namespace cleave::rt

#endif
