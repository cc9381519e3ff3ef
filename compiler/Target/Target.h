// A target answers all questions of the compiler about a device: how much scratch a library kernel needs, how often a
// generated kernel's outermost loop runs, which types are native, and how kernels become code. The driver and the
// verifier ask only a Target (Rationale.md names the few places that know a device by name).
//
//   auto target = parseTarget("host:avx512,threads=4");      // or "cuda:sm_90"
//   (*target)->scratch("matmul", params);
//   (*target)->compile(kernels, "cleave_gpt_", alignmentsOf(plan));
#ifndef CLEAVE_COMPILER_TARGET_TARGET_H
#define CLEAVE_COMPILER_TARGET_TARGET_H

#include "compiler/Target/Alignments.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "runtime/plan/KernelFacts.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cleave {

// How a kernel is launched on a device (runtime/include/cleave/model.h, cleave_device_kernel).
struct LaunchGeometry {
  uint32_t blockSize = 0;  // threads of a block
  uint64_t blocks = 0;     // blocks that have work; with fewer, a launch runs the rest in a loop
  uint64_t alignments = 0; // required by the code: for buffer i, 2 to the power of the i-th four bits
};

// A kernel's code, for people to read (--dump).
struct KernelListing {
  std::string code;                                        // as text: PTX, or LLVM IR
  std::vector<std::pair<std::string, uint64_t>> resources; // that it uses, named as in the dump's index
};

// The code of a module's kernels.
struct KernelCode {
  std::vector<std::string> objects;              // object files of the host that define each kernel's symbol
  std::string deviceImage;                       // runtime/device/cuda/DeviceImage.h; empty for host code
  std::map<std::string, LaunchGeometry> device;  // of each kernel in the image, by label
  std::map<std::string, rt::KernelFacts> facts;  // facts that a plan must state about each kernel's code, by label
  std::map<std::string, KernelListing> listings; // by label, if requested
  std::string listingNote;                       // what the listings do not have, and why; empty: nothing
  std::string cacheFolder;                       // folder that also has the code, for other compilations; empty: none
};

class Target {
public:
  virtual ~Target() = default;

  // The name in the plan: "host:avx512", "cuda:sm_90".
  const std::string &getName() const { return name; }
  // The number of compute threads of a rank for which scratch is planned.
  int64_t getThreads() const { return threads; }

  // The bytes of scratch that a kernel of runtime/plan/Kernels.def needs. Fails if the device has no such kernel.
  virtual llvm::Expected<uint64_t> scratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params,
                                           int64_t threads) const = 0;
  // The bytes of a buffer that the kernel `packer` rewrites into the library's own format; 0 if the library reads the
  // plain format.
  virtual llvm::Expected<uint64_t> packed(llvm::StringRef packer, llvm::ArrayRef<int64_t> params,
                                          int64_t threads) const = 0;
  // Fails, with a message for the user, if the device does not have the named kernel, or not for its types.
  virtual llvm::Error checkKernel(const rt::fb::Kernel &kernel) const = 0;
  // The number of iterations of a generated kernel's outermost loop: Kernel.extent of the plan.
  virtual mlir::FailureOr<int64_t> extent(KernelOp kernel) const = 0;
  // True if products of this type are computed in it. Otherwise they are computed in f32 and rounded.
  virtual bool hasNativeProducts(rt::fb::DType type) const = 0;
  // Rows of the operands of 16-bit products should be a multiple of this many elements, to be fast; 1 if any row is
  // fast.
  virtual int64_t productMultiple() const { return 1; }
  // True if the device's memory is not the host's: --offload then saves memory.
  virtual bool hasOwnMemory() const = 0;
  // True if a program needs the host's kernels and their libraries.
  virtual bool needsHostKernels() const = 0;
  // The file next to the runtime that lists the libraries of a program (runtime/main/CMakeLists.txt).
  llvm::StringRef linkNeeds() const { return needsHostKernels() ? "cleave_rt.link" : "cleave_rt_device.link"; }
  // The suffix of files with a listing's code.
  virtual llvm::StringRef listingSuffix() const = 0;
  // Generates code for all kernels of a module in kernels form, for the launches of the plan. Symbols begin with
  // `prefix`.
  virtual llvm::Expected<KernelCode> compile(mlir::ModuleOp kernels, llvm::StringRef prefix,
                                             const KernelAlignments &alignments, bool withListings = false) const = 0;

protected:
  Target(std::string name, int64_t threads) : name(std::move(name)), threads(threads) {}

private:
  std::string name;
  int64_t threads;
};

// Parses `host[:ISA][,threads=N]` or `cuda:sm_NN`. Scratch of the host's library kernels is planned for at most N
// compute threads per rank. The default is the number of the machine's cores.
llvm::Expected<std::unique_ptr<Target>> parseTarget(llvm::StringRef text);

// The implementations, for parseTarget. `name` is the text before the comma, `options` the text after it.
llvm::Expected<std::unique_ptr<Target>> makeHostTarget(llvm::StringRef name, llvm::StringRef options);
llvm::Expected<std::unique_ptr<Target>> makeCudaTarget(llvm::StringRef name, llvm::StringRef options);

} // namespace cleave

#endif
