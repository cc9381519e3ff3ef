// A kernel of Kernels.def on the host, bound to its parameters and a thread count.
//
//   std::unique_ptr<HostKernel> kernel;
//   CLEAVE_TRY(makeHostKernel(args, threads, &kernel));   // once: checks parameters, builds library primitives
//   CLEAVE_TRY(kernel->run(buffers));                     // often: allocates nothing above 4 KiB
//
// The compiler uses the same function to plan scratch: a kernel that cannot be made cannot be planned either, and
// the bytes that bufferBytes() names are exactly the bytes that run() touches. Library memory objects are part of an
// instance, so that it must not run on two threads at once; launches on one thread may share it.
#ifndef CLEAVE_KERNELS_COMMON_HOST_HOSTKERNEL_H
#define CLEAVE_KERNELS_COMMON_HOST_HOSTKERNEL_H

#include "runtime/base/Status.h"
#include "runtime/plan/KernelDefs.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace cleave::rt {

class HostKernel {
public:
  virtual ~HostKernel() = default;
  // The bytes of each buffer, in the order of Kernels.def; planned scratch comes last where there is any.
  virtual std::vector<size_t> bufferBytes() const = 0;
  // Runs on the calling thread and its OpenMP team. Fails only on bad data (an index out of range).
  virtual Status run(void *const *buffers) = 0;
};

using MakeHostKernel = Status (*)(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

// Makes the kernel that args.def() names.
Status makeHostKernel(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

// Keeps the library to the instructions of a target: "host:generic", "host:avx2" or "host:avx512" ("host": all that the
// processor has), so that a plan's scratch and its bits are those of the target on any machine. The library has one
// such setting in a process, from its first use on: call this before the first kernel is made. Later, or for a second
// target, it changes nothing, and a plan whose scratch does not suffice is refused when it is bound.
void keepToInstructions(std::string_view target);

// The two for the host device, which refers to them weakly: a program for a GPU is linked without the host's kernels
// and the libraries that they need. Whoever wants them says so to the linker (runtime/main/CMakeLists.txt).
struct HostKernels {
  MakeHostKernel make;
  void (*keepToInstructions)(std::string_view target);
};
extern "C" __attribute__((visibility("hidden"))) const HostKernels cleave_host_kernels;

// Whether products of this type use instructions of the processor that compute it, or are computed in f32 and rounded.
// The bits differ by the order of sums alone: products of 16-bit numbers are exact in f32.
bool hasNativeProducts(fb::DType dtype);

// The planned scratch of a kernel: the size of its last buffer; 0 where it has none. `params` in the order of
// Kernels.def (KernelParams::finish). Unknown kernels and unsupported parameters give a status.
Status hostScratchBytes(std::string_view name, const std::vector<int64_t> &params, int threads, size_t *bytes);

// The bytes of a buffer that `packer` (NAME_pack_B of Kernels.def) rewrites in place: room for either format. 0 when
// the kernel wants the plain one.
Status hostPackedBytes(std::string_view packer, const std::vector<int64_t> &params, int threads, size_t *bytes);

} // namespace cleave::rt

#endif
