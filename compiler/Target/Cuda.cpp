// The target for GPUs. LLVM makes PTX of generated kernels, and ptxas makes machine code. cuBLASLt computes products,
// and kernels/*/cuda has all other kernels.
#include "compiler/Codegen/CUDA/CudaCodegen.h"
#include "compiler/Codegen/CUDA/Ptxas.h"
#include "compiler/Support/Error.h"
#include "compiler/Support/Usage.h"
#include "compiler/Target/Target.h"
#include "kernels/common/cuda/CudaKernel.h"
#include "runtime/device/cuda/DeviceImage.h"

#include <thread>

using namespace cleave;

namespace {

class Cuda : public Target {
public:
  Cuda(std::string name, CudaArchitecture architecture, bool hasWgmma)
      : Target(std::move(name), 1), architecture(std::move(architecture)), hasWgmma(hasWgmma) {}

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

  // Nothing is packed: libraries read row-major matrices in place.
  llvm::Expected<uint64_t> packed(llvm::StringRef, llvm::ArrayRef<int64_t>, int64_t) const override { return 0; }

  llvm::Error checkKernel(const rt::fb::Kernel &kernel) const override {
    std::vector<int64_t> params;
    if (kernel.params())
      params.assign(kernel.params()->begin(), kernel.params()->end());
    rt::KernelArgs args;
    rt::Status status = rt::cudaKernelArgs(kernel.name()->string_view(), params, &args);
    if (!status.isOk())
      return makeError(status.message());
    noteOwn(args);
    return llvm::Error::success();
  }

  mlir::FailureOr<int64_t> extent(KernelOp kernel) const override { return cudaExtent(kernel); }

  bool hasNativeProducts(rt::fb::DType) const override { return true; }

  // cuBLASLt's kernels for tensor cores load 16 bytes at a time.
  int64_t productMultiple() const override { return 8; }

  bool hasOwnMemory() const override { return true; }
  bool needsHostKernels() const override { return false; }

  llvm::StringRef listingSuffix() const override { return "ptx"; }

  llvm::Expected<KernelCode> compile(mlir::ModuleOp kernels, llvm::StringRef prefix, const KernelAlignments &alignments,
                                     bool withListings) const override;

private:
  // A module of Cleave's own kernels (kernels/*/cuda), with those of its entries that the plan's kernels call.
  struct OwnModule {
    const char *(*ptx)();
    std::set<std::string> entries;
  };
  // The machine code of a program's modules. Each text is assembled once. Without ptxas there is no machine code.
  struct MachineCode {
    struct Own {
      std::string chip;
      const char *ptx;
      std::string code;
    };
    std::vector<Own> own;
    Ptxas::Code generated;
    std::string lacking; // why there is none
  };

  void noteOwn(const rt::KernelArgs &args) const;
  std::string formForSm90a(const OwnModule &module) const;
  llvm::Error assembleOwn(const Ptxas &ptxas, const KernelCache *cache, MachineCode &code) const;
  llvm::Expected<CudaImage> compileAll(mlir::ModuleOp kernels, llvm::StringRef prefix,
                                       const KernelAlignments &alignments, const KernelCache *cache,
                                       MachineCode &code) const;
  void addListings(KernelCode &code, llvm::StringRef prefix, const CudaImage &image, const MachineCode &machine) const;

  CudaArchitecture architecture;
  bool hasWgmma; // on GPUs of compute capability 9.0
  // The modules that the plan's kernels use. It is complete because the driver checks all kernels before it compiles.
  mutable std::vector<OwnModule> own;
};

} // namespace

void Cuda::noteOwn(const rt::KernelArgs &args) const {
  rt::CudaKernelCall call;
  // cuBLASLt computes products, except sums of columns that it may not support.
  bool addsColumns = args.def().findBuffer("bias_grad").has_value();
  if (!(addsColumns ? rt::cudaColumnSums(args, &call) : rt::cudaKernelCall(args, &call)).isOk())
    return;
  auto module = llvm::find_if(own, [&](const OwnModule &module) { return module.ptx == call.image; });
  if (module == own.end())
    module = own.insert(own.end(), {call.image, {}});
  module->entries.insert(call.function);
}

// Returns the module's text for sm_90a. Empty if the module has none, or if it is not wanted.
std::string Cuda::formForSm90a(const OwnModule &module) const {
  return hasWgmma ? textForSm90a(module.ptx(), module.entries) : "";
}

// A form for sm_90a is stored with the text for all GPUs, because GPUs that cannot run the form compile that text.
llvm::Error Cuda::assembleOwn(const Ptxas &ptxas, const KernelCache *cache, MachineCode &code) const {
  for (const OwnModule &module : own) {
    std::string form = formForSm90a(module), chip = form.empty() ? architecture.chip : "sm_90a";
    auto made = form.empty() ? ptxas.assemble(module.ptx(), chip, module.entries, cache)
                             : ptxas.assemble(form, chip, {}, cache);
    if (!made)
      return made.takeError();
    code.own.push_back({chip, module.ptx(), std::move(made->cubin)});
  }
  return llvm::Error::success();
}

// Cleave's own kernels are assembled while LLVM compiles the generated ones, so at most two programs run at a time.
llvm::Expected<CudaImage> Cuda::compileAll(mlir::ModuleOp kernels, llvm::StringRef prefix,
                                           const KernelAlignments &alignments, const KernelCache *cache,
                                           MachineCode &code) const {
  auto ptxas = Ptxas::find();
  if (!ptxas)
    return ptxas.takeError();
  llvm::Error ofOwn = llvm::Error::success(), ofGenerated = llvm::Error::success();
  llvm::consumeError(std::move(ofOwn));
  std::thread other;
  if (*ptxas)
    other = std::thread([&] { ofOwn = assembleOwn(**ptxas, cache, code); });
  auto image = compileForCuda(kernels, architecture, prefix, alignments);
  if (image && *ptxas && !image->kernels.empty()) {
    auto made = (*ptxas)->assemble(image->ptx, architecture.chip, {}, cache);
    if (made)
      code.generated = std::move(*made);
    else
      ofGenerated = made.takeError();
  }
  if (other.joinable())
    other.join();
  llvm::Error failed = llvm::handleErrors(llvm::joinErrors(std::move(ofOwn), std::move(ofGenerated)),
                                          [&](const PtxasTooOld &error) { code.lacking = error.getMessage(); });
  if (!image) {
    llvm::consumeError(std::move(failed));
    return image.takeError();
  }
  if (failed)
    return failed;
  // For modules that were not assembled: the driver compiles this text on compute capability 9.0 instead of the text
  // for all GPUs. It accepts text in place of machine code.
  if (!code.lacking.empty() || !*ptxas)
    for (const OwnModule &module : own) {
      bool isAssembled = llvm::any_of(code.own, [&](const MachineCode::Own &one) { return one.ptx == module.ptx(); });
      if (std::string form = formForSm90a(module); !isAssembled && !form.empty())
        code.own.push_back({"sm_90a", module.ptx(), form + '\0'});
    }
  if (!*ptxas)
    code.lacking = Ptxas::isOff() ? "CLEAVE_PTXAS=off"
                                  : "no ptxas was found on PATH, in $CUDA_PATH/bin, $CUDA_HOME/bin or /usr/local/cuda/bin";
  return image;
}

llvm::Expected<KernelCode> Cuda::compile(mlir::ModuleOp kernels, llvm::StringRef prefix,
                                         const KernelAlignments &alignments, bool withListings) const {
  std::optional<KernelCache> cache = KernelCache::ofUser();
  MachineCode machine;
  auto image = compileAll(kernels, prefix, alignments, cache ? &*cache : nullptr, machine);
  if (!image)
    return image.takeError();
  KernelCode code;
  rt::DeviceImageWriter writer(image->ptx);
  if (!machine.generated.cubin.empty())
    writer.add({architecture.chip, image->ptx, machine.generated.cubin});
  for (auto &[chip, ptx, own] : machine.own)
    writer.add({chip, ptx, std::move(own)});
  code.deviceImage = writer.finish();
  if (cache && machine.lacking.empty()) {
    cache->prune();
    code.cacheFolder = cache->getFolder();
  }
  for (const auto &[label, kernel] : image->kernels) {
    code.device[label] = {kernel.blockSize, kernel.blocks, kernel.alignments};
    code.facts[label] = kernel.facts;
  }
  if (withListings)
    addListings(code, prefix, *image, machine);
  else if (!machine.lacking.empty() && !Ptxas::isOff())
    llvm::errs() << "note: the driver compiles the program's kernels at the first start on each machine, which takes "
                    "seconds, since the program has no machine code: "
                 << machine.lacking
                 << "; install CUDA's compiler (nvcc), or name its ptxas in CLEAVE_PTXAS, and compile again. "
                    "CLEAVE_PTXAS=off leaves out machine code and this note\n";
  return code;
}

// Threads and blocks are those of the code. All other numbers were reported by the ptxas that made the program's
// machine code.
void Cuda::addListings(KernelCode &code, llvm::StringRef prefix, const CudaImage &image,
                       const MachineCode &machine) const {
  if (!machine.lacking.empty())
    code.listingNote = machine.lacking + ": registers, shared memory and spills of kernels are not known, and the program has PTX alone";
  std::map<std::string, std::string> texts = splitEntries(image.ptx);
  for (const auto &[label, geometry] : code.device) {
    std::string entry = (prefix + label).str();
    KernelListing &listing = code.listings[label];
    listing.code = std::move(texts[entry]);
    listing.resources = {{"threads", geometry.blockSize}, {"blocks", geometry.blocks}};
    if (auto found = machine.generated.resources.find(entry); found != machine.generated.resources.end())
      listing.resources.insert(listing.resources.end(), {{"registers", found->second.registers},
                                                         {"shared_bytes", found->second.sharedBytes},
                                                         {"stack_bytes", found->second.stackBytes},
                                                         {"spill_store_bytes", found->second.spillStoreBytes},
                                                         {"spill_load_bytes", found->second.spillLoadBytes}});
  }
}

// The PTX versions are the earliest that have the chip, but at least 8.0. So programs need a driver of CUDA 12.0, or of
// 12.7 for sm_100.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kChips[] = {
    {"sm_80", "+ptx80"}, {"sm_90", "+ptx80"}, {"sm_100", "+ptx86"}};

// The default of the option wgmma: true if attention is computed by wgmma on compute capability 9.0. Reasons are in
// kernels/attention/Rationale.md.
static constexpr bool kWgmma = true;

llvm::Expected<std::unique_ptr<Target>> cleave::makeCudaTarget(llvm::StringRef name, llvm::StringRef options) {
  llvm::StringRef chosen = name.split(':').second;
  auto known = llvm::find_if(kChips, [&](const auto &chip) { return chip.first == chosen; });
  bool hasOption = chosen == "sm_90" && (options == "wgmma=on" || options == "wgmma=off");
  if (known == std::end(kChips) || (!options.empty() && !hasOption))
    return usageError("--target " + name + (options.empty() ? "" : ",") + options,
                      "this version compiles for cuda:sm_80 (A100), cuda:sm_90 (H100, H200) and cuda:sm_100 (B200), "
                      "and for cuda:sm_90 with the "
                      "option wgmma=on or wgmma=off");
  bool hasWgmma = chosen == "sm_90" && (hasOption ? options == "wgmma=on" : kWgmma);
  return std::make_unique<Cuda>(name.str(), CudaArchitecture{known->first.str(), known->second.str()}, hasWgmma);
}
