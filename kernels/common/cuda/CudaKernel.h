// The kernels of Kernels.def on a GPU: which there are, and how the hand-written ones are called. Needs no CUDA to be
// compiled: the compiler asks it which kernels it may plan, and the device (runtime/device/cuda) launches them.
#ifndef CLEAVE_KERNELS_COMMON_CUDA_CUDAKERNEL_H
#define CLEAVE_KERNELS_COMMON_CUDA_CUDAKERNEL_H

#include "kernels/common/cuda/Call.h"
#include "runtime/base/Status.h"
#include "runtime/plan/KernelDefs.h"

#include <string>
#include <string_view>
#include <vector>

namespace cleave::rt {

// A call of an entry of Kernels.cu, but for its buffers.
struct CudaKernelCall {
  static constexpr unsigned kBlockSize = 256;
  std::string function;
  const char *(*image)() = nullptr; // the PTX that has it: a module of the device, which is loaded when it is first called
  uint64_t blocks = 0; // that have work; fewer do the same work
  long long params[CudaCall::kParams] = {};
  // The kernel changes buffer `target` in place; before, it is to hold what `source` holds. None where negative.
  int source = -1, target = -1;
  std::string expected; // which indices it takes, for messages
};

// Parameters of a kernel that a GPU has; an error that names it where there is none, or not for its types.
Status cudaKernelArgs(std::string_view name, const std::vector<int64_t> &params, KernelArgs *args);
// Where a library's workspace begins: on a multiple of this. A plan's scratch begins on one of kScratchAlignment, and has
// room to skip the rest.
inline constexpr uint64_t kWorkspaceAlignment = 256;
// The bytes of its buffer `scratch`; 0 where it has none.
Status cudaScratchBytes(const KernelArgs &args, uint64_t *bytes);
// Whether cuBLASLt computes it.
bool isProduct(const KernelDef &def);
// The sums of columns that a product gives with its result, where the library does not: of buffer `source` into `target`.
Status cudaColumnSums(const KernelArgs &args, CudaKernelCall *call);
// How it is called; of all but products (matmul), which cuBLASLt computes.
Status cudaKernelCall(const KernelArgs &args, CudaKernelCall *call);

// The PTX of Kernels.cu, and of attention's kernels without and with dropout, each of which is as much code as all others
// and is apart for that: a driver compiles a module whole. Ended by NUL; empty where no CUDA compiler was found when Cleave was built.
const char *cudaKernelImage();
const char *cudaAttentionImage();
const char *cudaAttentionDropoutImage();

} // namespace cleave::rt

#endif
