// A kernel of Kernels.def on the host, made for its parameters and a number of threads.
//
//   std::unique_ptr<HostKernel> kernel;
//   CLEAVE_TRY(makeHostKernel(args, threads, &kernel));   // once: checks parameters, builds library primitives
//   CLEAVE_TRY(kernel->run(buffers));                     // often: allocates nothing above 4 KiB
//
// The compiler uses the same function to plan scratch. So a kernel that cannot be made cannot be planned, and run()
// touches exactly the bytes that bufferBytes() returns. An instance contains memory objects of the library, so two
// threads must not run it at the same time. Several launches on one thread may share it.
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
  // The bytes of each buffer, in the order of Kernels.def. Planned scratch, if there is any, comes last.
  virtual std::vector<size_t> bufferBytes() const = 0;
  // Runs on the calling thread and its OpenMP team. Fails only for bad data (an index out of range).
  virtual Status run(void *const *buffers) = 0;
};

using MakeHostKernel = Status (*)(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

// Makes the kernel that args.def() names.
Status makeHostKernel(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

// Restricts the library to the instructions of a target: "host:generic", "host:avx2" or "host:avx512" ("host": all
// instructions of the processor). Our own kernels keep to the same instructions (vectorLevel), except for code whose
// bits and scratch are the same with all instructions: the maxima of pools, which only compare. So a plan's scratch and
// its bits are those of the target on any machine. The library has one such setting in a process, and fixes it at its
// first use. So this must be called before the first kernel is made. A later call, or a call for a second target, has
// no effect, and a plan whose scratch is too small is refused when it is bound.
void keepToInstructions(std::string_view target);

// The two functions for the host device, which refers to them weakly. So a program for a GPU is linked without the
// host's kernels and their libraries. Programs that need them name this symbol to the linker
// (runtime/main/CMakeLists.txt).
struct HostKernels {
  MakeHostKernel make;
  void (*keepToInstructions)(std::string_view target);
};
extern "C" __attribute__((visibility("hidden"))) const HostKernels cleave_host_kernels;

// True if the processor has instructions for products of this type. Otherwise products are computed in f32 and rounded.
// The bits differ only by the order of sums, because products of 16-bit numbers are exact in f32.
bool hasNativeProducts(fb::DType dtype);

// The planned scratch of a kernel: the size of its last buffer, or 0 if it has none. `params` are in the order of
// Kernels.def (KernelParams::finish). Fails for unknown kernels and unsupported parameters.
Status hostScratchBytes(std::string_view name, const std::vector<int64_t> &params, int threads, size_t *bytes);

// The bytes of a buffer that `packer` (NAME_pack_B of Kernels.def) rewrites in place: enough for both formats. 0 if the
// kernel reads the plain format.
Status hostPackedBytes(std::string_view packer, const std::vector<int64_t> &params, int threads, size_t *bytes);

} // namespace cleave::rt

#endif
