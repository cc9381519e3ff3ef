#include "compiler/Codegen/CUDA/CudaCodegen.h"

#include "compiler/Codegen/CUDA/ConstantOffsets.h"
#include "compiler/Codegen/CUDA/DoubleFunctions.h"
#include "compiler/Codegen/CUDA/FloatFunctions.h"
#include "compiler/Codegen/CUDA/ThreadEmitter.h"
#include "compiler/Codegen/Loops/GraphFacts.h"
#include "compiler/Codegen/Loops/IsolatedKernels.h"
#include "compiler/Codegen/Loops/LowerToLLVM.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace mlir;
using namespace cleave;

FailureOr<int64_t> cleave::cudaExtent(KernelOp kernel) {
  FailureOr<KernelGraph> graph = KernelGraph::build(kernel);
  if (failed(graph))
    return failure();
  return ThreadForm::choose(*graph).pieces();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine(const CudaArchitecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("this LLVM has no code generator for CUDA: %s", error.c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard; // as an op's own flags say (Rationale.md, "An element's bits")
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, architecture.chip, architecture.features, options, std::nullopt, std::nullopt,
                                 llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("no code for '%s'", architecture.chip.c_str());
  return machine;
}

namespace {

class ImageBuilder {
public:
  ImageBuilder(const CudaArchitecture &architecture, StringRef prefix) : architecture(architecture), prefix(prefix) {}
  LogicalResult add(const IsolatedKernel &kernel, ModuleOp module, ArrayRef<uint32_t> alignments);
  // True if 32 bits hold every index and offset, in elements, that a thread of these kernels computes.
  bool hasShortIndices() const { return shortIndices; }
  llvm::Expected<CudaImage> finish(ModuleOp module);

private:
  llvm::Error checkCalls(const llvm::Module &code) const;
  llvm::Error checkShared(const llvm::Module &code) const;

  const CudaArchitecture &architecture;
  std::string prefix;
  CudaImage image;
  bool shortIndices = true;
};

} // namespace

// Encodes the alignments in four bits for each of the first buffers. Code relies on no alignment of the others.
static uint64_t encoded(ArrayRef<uint32_t> alignments) {
  uint64_t code = 0;
  for (auto [position, alignment] : llvm::enumerate(alignments))
    code |= static_cast<uint64_t>(llvm::Log2_32(alignment)) << (4 * position);
  return code;
}

// A loop steps once past its end, by at most the threads of all blocks. So indices use only a quarter of the range of
// 32 bits.
static bool fitsShortIndices(const KernelGraph &graph, const ThreadForm &form) {
  constexpr int64_t kMost = int64_t{1} << 30;
  bool fits = std::max({form.parallel, form.terms, form.pieces()}) <= kMost;
  auto look = [&](Value value) {
    if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
      fits &= tensor.getNumElements() <= kMost;
  };
  llvm::for_each(graph.getInputs(), look);
  // Values inside the kernel count too: a slice may read a few elements in the middle of a large value that is not in
  // memory. An index that comes from data may be any number.
  graph.getFunction().walk([&](Operation *op) {
    llvm::for_each(op->getResults(), look);
    if (auto cast = dyn_cast<arith::IndexCastOp>(op))
      fits &= !cast.getType().isIndex();
  });
  return fits;
}

// The most buffers of a kernel. Their addresses are its parameters, which may have 4096 bytes in PTX (PTX ISA,
// ".param").
static constexpr size_t kMostBuffers = 512;

LogicalResult ImageBuilder::add(const IsolatedKernel &isolated, ModuleOp module, ArrayRef<uint32_t> alignments) {
  ParsedKernel parsed = parseKernel(isolated.text, *module.getContext());
  if (!parsed.kernel)
    return failure();
  FailureOr<KernelGraph> graph = KernelGraph::build(parsed.kernel);
  if (failed(graph))
    return failure();
  if (size_t buffers = graph->getInputs().size() + graph->getResults().size(); buffers > kMostBuffers)
    return parsed.kernel.emitError("a kernel of ") << buffers << " tensors; a CUDA kernel takes at most "
                                                   << kMostBuffers << ": concatenate fewer tensors at a time";
  ThreadForm form = ThreadForm::choose(*graph);
  shortIndices &= fitsShortIndices(*graph, form);
  alignments = alignments.take_front(16);
  if (failed(emitThread(*graph, form, prefix + isolated.label, module, alignments)))
    return failure();
  image.kernels[isolated.label] = {static_cast<uint32_t>(form.blockSize()), static_cast<uint64_t>(form.pieces()),
                                   encoded(alignments), factsOf(*graph, isolated, form.pieces())};
  return success();
}

// False for functions that LLVM knows and PTX has no instruction for. The other intrinsics of LLVM are arithmetic.
static bool hasInstruction(const llvm::Function &function) {
  switch (function.getIntrinsicID()) {
  case llvm::Intrinsic::not_intrinsic:
  case llvm::Intrinsic::pow:
  case llvm::Intrinsic::powi:
  case llvm::Intrinsic::exp:
  case llvm::Intrinsic::exp10:
  case llvm::Intrinsic::log:
  case llvm::Intrinsic::log10:
  case llvm::Intrinsic::tan:
  case llvm::Intrinsic::tanh:
  case llvm::Intrinsic::sinh:
  case llvm::Intrinsic::cosh:
  case llvm::Intrinsic::asin:
  case llvm::Intrinsic::acos:
  case llvm::Intrinsic::atan:
  case llvm::Intrinsic::atan2:
    return false;
  case llvm::Intrinsic::exp2:
  case llvm::Intrinsic::log2:
  case llvm::Intrinsic::sin:
  case llvm::Intrinsic::cos:
    return false; // f32 has approximate instructions, which are not wanted here
  default:
    return true;
  }
}

// Reports a function that the device has no code for: it is a call of the C library, or an instruction that PTX only
// approximates.
llvm::Error ImageBuilder::checkCalls(const llvm::Module &code) const {
  for (const llvm::Function &function : code)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      std::string what;
      if (call && call->getCalledFunction() && !hasInstruction(*call->getCalledFunction()))
        what = "function '" + call->getCalledFunction()->getName().str() + "'";
      else if (instruction.getOpcode() == llvm::Instruction::FRem)
        what = "remainder of f64 numbers";
      if (!what.empty())
        return llvm::createStringError("kernel '%s' needs the %s, which the cuda target does not have yet; compile the "
                                       "model in f32 where it is of f64, or for the host",
                                       function.getName().str().c_str(), what.c_str());
    }
  return llvm::Error::success();
}

// Reports a kernel that needs too much shared memory. A module with such a kernel could not be loaded at all.
llvm::Error ImageBuilder::checkShared(const llvm::Module &code) const {
  constexpr unsigned kShared = 3;
  constexpr uint64_t kMost = 48 << 10; // bytes of a block without an opt-in
  for (const llvm::GlobalVariable &global : code.globals())
    if (uint64_t bytes = code.getDataLayout().getTypeAllocSize(global.getValueType());
        global.getAddressSpace() == kShared && bytes > kMost)
      return llvm::createStringError(
          "kernel code generation: '%s' takes %llu bytes of a block's shared memory, which has %llu",
          global.getName().str().c_str(), static_cast<unsigned long long>(bytes),
          static_cast<unsigned long long>(kMost));
  return llvm::Error::success();
}

// Loops have annotations about unrolling (ThreadEmitter::forLoop). The conversions keep them as an attribute that is
// not translated, so they are set again here.
static void annotateLoops(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(LLVM::LoopAnnotationAttr::name))
      branch.setLoopAnnotationAttr(annotation);
  });
}

llvm::Expected<CudaImage> ImageBuilder::finish(ModuleOp module) {
  auto machine = makeMachine(architecture);
  if (!machine)
    return machine.takeError();
  annotateLoops(module);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return llvm::createStringError("the kernels have no LLVM IR");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  if (llvm::Error error = checkCalls(*code))
    return error;
  if (llvm::Error error = checkShared(*code))
    return error;
  for (auto &[label, kernel] : image.kernels) {
    llvm::Function *function = code->getFunction(prefix + label);
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function->addFnAttr("nvvm.maxntid", std::to_string(kernel.blockSize));
    function->addFnAttr(llvm::Attribute::NoUnwind);
  }
  optimize(*code, **machine);
  for (llvm::Function &function : *code)
    splitConstantOffsets(function);
  auto text = emitMachineCode(*code, **machine, llvm::CodeGenFileType::AssemblyFile);
  if (!text)
    return text.takeError();
  image.ptx = std::move(*text);
  while (!image.ptx.empty() && image.ptx.back() == '\0')
    image.ptx.pop_back();
  return std::move(image);
}

llvm::Expected<CudaImage> cleave::compileForCuda(ModuleOp module, const CudaArchitecture &architecture,
                                                 StringRef prefix,
                                                 const std::map<std::string, std::vector<uint32_t>> &alignments) {
  DialectRegistry registry;
  registerLoopDialects(registry);
  registry.insert<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.appendDialectRegistry(module.getContext()->getDialectRegistry()); // a plug-in's ops may be among the kernels
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(&context));
  ImageBuilder builder(architecture, prefix);
  LogicalResult status = success();
  for (const IsolatedKernel &kernel : isolateKernels(module))
    if (succeeded(status)) {
      auto known = alignments.find(kernel.label);
      status = builder.add(kernel, *code,
                           known == alignments.end() ? ArrayRef<uint32_t>() : ArrayRef<uint32_t>(known->second));
    }
  RewritePatternSet patterns(&context);
  populateDoubleFunctions(patterns);
  populateFloatFunctions(patterns);
  if (failed(status) || failed(applyPatternsGreedily(*code, std::move(patterns))) ||
      failed(lowerToLLVMDialect(*code, /*hasBFloat16=*/true, builder.hasShortIndices() ? 32 : 64)))
    return llvm::createStringError("kernel code generation: %s",
                                   error.empty() ? "a kernel could not be lowered" : error.c_str());
  return builder.finish(*code);
}
