// GPUs as a target: PTX through LLVM, cuBLASLt for products, kernels/*/cuda for what is not generated.
#include "compiler/Codegen/CUDA/CudaCodegen.h"
#include "compiler/Codegen/CUDA/Ptxas.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "compiler/Target/Target.h"
#include "kernels/common/cuda/CudaKernel.h"

using namespace cleave;

namespace {

class Cuda : public Target {
public:
  Cuda(std::string name, CudaArchitecture architecture)
      : Target(std::move(name), 1), architecture(std::move(architecture)) {}

  llvm::Expected<uint64_t> scratch(llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t) const override {
    rt::KernelArgs args;
    uint64_t bytes = 0;
    rt::Status status = rt::cudaKernelArgs(kernel.str(), params.vec(), &args);
    if (status.isOk())
      status = rt::cudaScratchBytes(args, &bytes);
    if (!status.isOk())
      return makeError(status.message());
    return bytes;
  }

  // Libraries take row-major matrices as they are.
  llvm::Expected<uint64_t> packed(llvm::StringRef, llvm::ArrayRef<int64_t>, int64_t) const override { return 0; }

  llvm::Error checkKernel(const rt::fb::Kernel &kernel) const override {
    std::vector<int64_t> params;
    if (kernel.params())
      params.assign(kernel.params()->begin(), kernel.params()->end());
    rt::KernelArgs args;
    rt::Status status = rt::cudaKernelArgs(kernel.name()->string_view(), params, &args);
    return status.isOk() ? llvm::Error::success() : llvm::Error(makeError(status.message()));
  }

  mlir::FailureOr<int64_t> extent(KernelOp kernel) const override { return cudaExtent(kernel); }

  bool hasNativeProducts(rt::fb::DType) const override { return true; }

  // cuBLASLt's kernels for tensor cores load 16 bytes at a time.
  int64_t productMultiple() const override { return 8; }

  bool needsHostKernels() const override { return false; }

  llvm::StringRef listingSuffix() const override { return "ptx"; }

  llvm::Expected<KernelCode> compile(mlir::ModuleOp kernels, llvm::StringRef prefix, const KernelAlignments &alignments,
                                     bool withListings) const override {
    auto image = compileForCuda(kernels, architecture, prefix, alignments);
    if (!image)
      return image.takeError();
    KernelCode code;
    code.deviceImage = std::move(image->ptx);
    for (auto &[label, kernel] : image->kernels) {
      code.device[label] = {kernel.blockSize, kernel.blocks, kernel.alignments};
      code.facts[label] = std::move(kernel.facts);
    }
    if (withListings)
      addListings(code, prefix);
    return code;
  }

private:
  void addListings(KernelCode &code, llvm::StringRef prefix) const;

  CudaArchitecture architecture;
};

} // namespace

// Threads and blocks are the code's own; the rest is ptxas' word, where there is one.
void Cuda::addListings(KernelCode &code, llvm::StringRef prefix) const {
  std::map<std::string, PtxasResources> told;
  if (auto program = findPtxas(); !program) {
    code.listingNote =
        "no ptxas was found on PATH, in $CUDA_PATH/bin, $CUDA_HOME/bin or /usr/local/cuda/bin: registers, "
        "shared memory and spills of kernels are not known";
  } else if (auto assembled = assemble(*program, code.deviceImage, architecture.chip)) {
    told = std::move(*assembled);
  } else {
    code.listingNote =
        "registers, shared memory and spills of kernels are not known: " + llvm::toString(assembled.takeError());
  }
  std::map<std::string, std::string> texts = splitEntries(code.deviceImage);
  for (const auto &[label, geometry] : code.device) {
    std::string entry = (prefix + label).str();
    KernelListing &listing = code.listings[label];
    listing.code = std::move(texts[entry]);
    listing.resources = {{"threads", geometry.blockSize}, {"blocks", geometry.blocks}};
    if (auto found = told.find(entry); found != told.end())
      listing.resources.insert(listing.resources.end(), {{"registers", found->second.registers},
                                                         {"shared_bytes", found->second.sharedBytes},
                                                         {"stack_bytes", found->second.stackBytes},
                                                         {"spill_store_bytes", found->second.spillStoreBytes},
                                                         {"spill_load_bytes", found->second.spillLoadBytes}});
  }
}

// The PTX versions are the earliest that have the chip, but not earlier than 8.0: programs need a driver of CUDA 12.0,
// and of 12.7 for sm_100.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kChips[] = {
    {"sm_80", "+ptx80"}, {"sm_90", "+ptx80"}, {"sm_100", "+ptx86"}};

llvm::Expected<std::unique_ptr<Target>> cleave::makeCudaTarget(llvm::StringRef name, llvm::StringRef options) {
  for (auto [chip, features] : kChips)
    if (name.split(':').second == chip && options.empty())
      return std::make_unique<Cuda>(name.str(), CudaArchitecture{chip.str(), features.str()});
  return usageError("--target " + name + (options.empty() ? "" : ",") + options,
                    "this version compiles for cuda:sm_80, cuda:sm_90 and cuda:sm_100, without options");
}
