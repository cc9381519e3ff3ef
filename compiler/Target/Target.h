// A target answers everything that the compiler asks of a device: how large the scratch of a library kernel is, how
// often a generated kernel's outermost loop runs, which types are native, and how kernels become code. The driver and
// the verifier ask a Target only; no other folder knows a device by name.
//
//   auto target = parseTarget("host:avx512,threads=4");      // or "cuda:sm_90"
//   (*target)->scratch("matmul", params);
//   (*target)->compile(kernels, "cleave_gpt_", alignmentsOf(plan));
//
// Fusion groups, streams and communication are decided before the target is asked.
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
  uint32_t blockSize = 0; // threads of a block
  uint64_t blocks = 0;    // that have work; a launch with fewer runs the rest in a loop
  uint64_t alignments = 0; // that the code counts on: of buffer i, 2 to the power of the i-th four bits
};

// A kernel's code, for people (--dump).
struct KernelListing {
  std::string code;                                          // as text: PTX, or LLVM IR
  std::vector<std::pair<std::string, uint64_t>> resources; // that it takes, named as in the dump's index
};

// The code of a module's kernels.
struct KernelCode {
  std::vector<std::string> objects;             // object files of the host that define each kernel's symbol
  std::string deviceImage;                      // runtime/device/cuda/DeviceImage.h, or empty where the code is the host's
  std::map<std::string, LaunchGeometry> device; // of each kernel in the image, by label
  std::map<std::string, rt::KernelFacts> facts; // what a plan may say of each kernel's code, by label
  std::map<std::string, KernelListing> listings; // by label, where they were asked for
  std::string listingNote;                       // what the listings lack, and why; empty: nothing
  std::string cacheFolder;                       // where the code was also kept, for other compilations; empty: nowhere
};

class Target {
public:
  virtual ~Target() = default;

  // As the plan has it: "host:avx512", "cuda:sm_90".
  const std::string &getName() const { return name; }
  // Compute threads of a rank that scratch is planned for.
  int64_t getThreads() const { return threads; }

  // The bytes of scratch that a kernel of runtime/plan/Kernels.def wants; an error where the device has no such kernel.
  virtual llvm::Expected<uint64_t> scratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params,
                                           int64_t threads) const = 0;
  // Room for a buffer that the kernel `packer` rewrites into the library's own format; 0 where that is the plain one.
  virtual llvm::Expected<uint64_t> packed(llvm::StringRef packer, llvm::ArrayRef<int64_t> params,
                                          int64_t threads) const = 0;
  // An error, for the user, where the device lacks the named kernel or its types.
  virtual llvm::Error checkKernel(const rt::fb::Kernel &kernel) const = 0;
  // Iterations of a generated kernel's outermost loop: Kernel.extent of the plan.
  virtual mlir::FailureOr<int64_t> extent(KernelOp kernel) const = 0;
  // Whether products of this type are computed in it, or in f32 and rounded.
  virtual bool hasNativeProducts(rt::fb::DType type) const = 0;
  // Elements of 16 bits that the rows of a product's operands are to be a multiple of, to be fast; 1 where any row is.
  virtual int64_t productMultiple() const { return 1; }
  // True if the device's memory is not the host's: --offload then saves memory.
  virtual bool hasOwnMemory() const = 0;
  // Whether a program has the host's kernels in it, with the libraries that they need.
  virtual bool needsHostKernels() const = 0;
  // The file beside the runtime that lists what a program is linked with (runtime/main/CMakeLists.txt).
  llvm::StringRef linkNeeds() const { return needsHostKernels() ? "cleave_rt.link" : "cleave_rt_device.link"; }
  // How files with a listing's code end.
  virtual llvm::StringRef listingSuffix() const = 0;
  // Generates code for all kernels of a module in kernels form, as the plan launches them. Symbols begin with `prefix`.
  virtual llvm::Expected<KernelCode> compile(mlir::ModuleOp kernels, llvm::StringRef prefix,
                                             const KernelAlignments &alignments, bool withListings = false) const = 0;

protected:
  Target(std::string name, int64_t threads) : name(std::move(name)), threads(threads) {}

private:
  std::string name;
  int64_t threads;
};

// `host[:ISA][,threads=N]` or `cuda:sm_NN`. Scratch of the host's library kernels is planned for at most N compute
// threads per rank; by default the machine's cores.
llvm::Expected<std::unique_ptr<Target>> parseTarget(llvm::StringRef text);

// The implementations, for parseTarget: `name` is what precedes the comma, `options` what follows it.
llvm::Expected<std::unique_ptr<Target>> makeHostTarget(llvm::StringRef name, llvm::StringRef options);
llvm::Expected<std::unique_ptr<Target>> makeCudaTarget(llvm::StringRef name, llvm::StringRef options);

} // namespace cleave

#endif
