// The target for hosts: vector code by LLVM, and oneDNN's scratchpads.
#include "compiler/Codegen/Host/HostCodegen.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Support/Usage.h"
#include "compiler/Target/Target.h"
#include "kernels/common/host/HostKernel.h"

#include <thread>

using namespace cleave;

// True if the packer supports the format that it is asked for (Kernels.def). Only convolutions have the second format,
// for processors that compute wide vectors in two halves.
static bool hasForm(llvm::StringRef packer, llvm::ArrayRef<int64_t> params, bool halvesVectors) {
  const rt::KernelDef *def = rt::findKernelDef({packer.data(), packer.size()});
  rt::KernelArgs args;
  if (!def || !rt::KernelArgs::read(*def, params.vec(), &args).isOk())
    return true; // the kernel reports what is wrong
  bool isSecond = args[def->buffers[0].packedParam()] == 2;
  return !isSecond || (def->reader().work == rt::KernelWork::Convolution && halvesVectors);
}

namespace {

class Host : public Target {
public:
  Host(std::string name, int64_t threads, HostTarget machine)
      : Target(std::move(name), threads), machine(std::move(machine)) {}

  llvm::Expected<uint64_t> scratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params,
                                   int64_t threads) const override {
    size_t bytes = 0;
    if (rt::Status status = rt::hostScratchBytes(kernel.str(), params.vec(), static_cast<int>(threads), &bytes);
        !status.isOk())
      return toError(status);
    return bytes;
  }

  llvm::Expected<uint64_t> packed(llvm::StringRef packer, llvm::ArrayRef<int64_t> params,
                                  int64_t threads) const override {
    if (!hasForm(packer, params, machine.halvesVectors))
      return 0;
    size_t bytes = 0;
    if (rt::Status status = rt::hostPackedBytes(packer.str(), params.vec(), static_cast<int>(threads), &bytes);
        !status.isOk())
      return toError(status);
    return bytes;
  }

  llvm::Error checkKernel(const rt::fb::Kernel &) const override { return llvm::Error::success(); } // has all of them

  mlir::FailureOr<int64_t> extent(KernelOp kernel) const override { return kernelExtent(kernel); }

  bool hasNativeProducts(rt::fb::DType type) const override { return rt::hasNativeProducts(type); }

  bool hasOwnMemory() const override { return false; }
  bool needsHostKernels() const override { return true; }

  llvm::StringRef listingSuffix() const override { return "ll"; }

  llvm::Expected<KernelCode> compile(mlir::ModuleOp kernels, llvm::StringRef prefix, const KernelAlignments &,
                                     bool withListings) const override {
    HostCodegenOptions options;
    options.prefix = prefix.str();
    std::optional<KernelCache> cache = KernelCache::ofUser();
    options.cache = cache ? &*cache : nullptr;
    options.withListings = withListings;
    auto code = compileKernels(kernels, machine, options);
    if (!code)
      return code.takeError();
    KernelCode result;
    if (cache) {
      cache->prune();
      result.cacheFolder = cache->getFolder();
    }
    result.objects = std::move(code->objects);
    for (auto &[label, text] : code->listings)
      result.listings[label] = {std::move(text), {{"iterations", static_cast<uint64_t>(code->facts[label].extent)}}};
    result.facts = std::move(code->facts);
    return result;
  }

private:
  HostTarget machine;
};

} // namespace

llvm::Expected<std::unique_ptr<Target>> cleave::makeHostTarget(llvm::StringRef name, llvm::StringRef options) {
  auto machine = HostTarget::parse(name);
  if (!machine)
    return usageError("--target " + name, llvm::toString(machine.takeError()));
  int64_t threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  llvm::StringRef count = options;
  if (!options.empty() &&
      (!count.consume_front("threads=") || count.getAsInteger(10, threads) || threads < 1 || threads > 1024))
    return usageError("--target " + name + "," + options, "expected threads=N with N from 1 to 1024; got: " + options);
  rt::keepToInstructions({name.data(), name.size()});
  return std::make_unique<Host>(name.str(), threads, std::move(*machine));
}
