// What --target says, and what planning must know of the device: scratch sizes.
#ifndef CLEAVE_COMPILER_DRIVER_TARGET_H
#define CLEAVE_COMPILER_DRIVER_TARGET_H

#include "compiler/Codegen/Host/HostTarget.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// `host[:ISA][,threads=N]`. Scratch of library kernels is planned for at most N compute threads per rank; by default
// the machine's cores.
struct TargetDescription {
  std::string name; // "host:avx512", as written into the plan
  HostTarget host;
  int64_t threads = 1;
};

llvm::Expected<TargetDescription> parseTarget(llvm::StringRef text);

// What PlanningOptions asks of the host device.
// Scratch that a library kernel of runtime/plan/Kernels.def wants on the host device.
llvm::Expected<uint64_t> hostScratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t threads);
// Room for a buffer that the kernel `packer` rewrites into the library's own format; 0 where that is the plain one.
llvm::Expected<uint64_t> hostPacked(llvm::StringRef packer, llvm::ArrayRef<int64_t> params, int64_t threads);

} // namespace cleave

#endif
