#include "compiler/Codegen/Host/HostCodegen.h"

#include "compiler/Codegen/Host/LoopEmitter.h"
#include "compiler/Codegen/Host/MachineCode.h"
#include "compiler/Codegen/Loops/GraphFacts.h"
#include "compiler/Codegen/Loops/IsolatedKernels.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"

#include <thread>

using namespace mlir;
using namespace cleave;

FailureOr<int64_t> cleave::kernelExtent(KernelOp kernel) {
  FailureOr<KernelGraph> graph = KernelGraph::build(kernel);
  if (failed(graph))
    return failure();
  return LoopForm::choose(*graph).extent;
}

namespace {

// One worker's share: compiled in a context of its own, so that workers share nothing.
class Worker {
public:
  Worker(const HostTarget &target, const HostCodegenOptions &options, const DialectRegistry &dialects)
      : target(target), options(options), dialects(dialects) {}
  void add(IsolatedKernel kernel) { kernels.push_back(std::move(kernel)); }
  void run();
  std::string error, object;
  std::map<std::string, rt::KernelFacts> facts;

private:
  struct Entry {
    std::string symbol;
    SmallVector<unsigned> buffers;
  };
  LogicalResult emit(MLIRContext &context, ModuleOp module);
  llvm::Error translate(ModuleOp module);
  void addEntry(llvm::Module &module, const Entry &entry);

  const HostTarget &target;
  const HostCodegenOptions &options;
  const DialectRegistry &dialects; // of the module: a plug-in's ops may be among the kernels
  std::vector<IsolatedKernel> kernels;
  std::vector<Entry> entries;
};

} // namespace

static std::string bodyName(StringRef symbol) { return (symbol + ".body").str(); }

LogicalResult Worker::emit(MLIRContext &context, ModuleOp module) {
  for (auto &[label, text] : kernels) {
    ParsedKernel parsed = parseKernel(text, context);
    if (!parsed.kernel)
      return failure();
    FailureOr<KernelGraph> graph = KernelGraph::build(parsed.kernel);
    if (failed(graph))
      return failure();
    Entry entry{options.prefix + label, {}};
    if (failed(emitLoops(*graph, bodyName(entry.symbol), module, entry.buffers)))
      return failure();
    entries.push_back(std::move(entry));
    facts[label] = factsOf(*graph, label, LoopForm::choose(*graph).extent);
  }
  return lowerToLLVMDialect(module);
}

// void symbol(void *const *buffers, int64_t begin, int64_t end): loads the pointers and calls the body.
void Worker::addEntry(llvm::Module &module, const Entry &entry) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i64}, false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry.symbol, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  SmallVector<llvm::Value *> arguments;
  for (unsigned buffer : entry.buffers)
    arguments.push_back(builder.CreateLoad(pointer, builder.CreateConstGEP1_64(pointer, function->getArg(0), buffer)));
  arguments.push_back(function->getArg(1));
  arguments.push_back(function->getArg(2));
  llvm::Function *body = module.getFunction(bodyName(entry.symbol));
  builder.CreateCall(body, arguments);
  builder.CreateRetVoid();
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  // Inlined, its noalias arguments would become metadata, which later passes may drop.
  body->addFnAttr(llvm::Attribute::NoInline);
}

llvm::Error Worker::translate(ModuleOp module) {
  auto machine = makeTargetMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return llvm::createStringError("the kernels have no LLVM IR");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  for (const Entry &entry : entries)
    addEntry(*code, entry);
  for (llvm::Function &function : *code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorWidth));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (!target.hasFma)
    splitFusedMultiplyAdds(*code);
  optimize(*code, **machine);
  auto bytes = emitMachineCode(
      *code, **machine, options.emitAssembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile);
  if (!bytes)
    return bytes.takeError();
  object = std::move(*bytes);
  return llvm::Error::success();
}

void Worker::run() {
  DialectRegistry registry;
  registerLoopDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  context.appendDialectRegistry(dialects);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  if (failed(emit(context, *module))) {
    if (error.empty())
      error = "a kernel could not be lowered";
    return;
  }
  error.clear();
  if (llvm::Error failure = translate(*module))
    error = llvm::toString(std::move(failure));
}

llvm::Expected<HostObjects> cleave::compileKernels(ModuleOp module, const HostTarget &target,
                                                   const HostCodegenOptions &options) {
  unsigned count = std::max(1u, options.threads);
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < count; ++i)
    workers.push_back(std::make_unique<Worker>(target, options, module.getContext()->getDialectRegistry()));
  std::vector<IsolatedKernel> kernels = isolateKernels(module);
  for (auto [index, kernel] : llvm::enumerate(kernels))
    workers[index % count]->add(std::move(kernel));
  workers.resize(std::min<size_t>(count, std::max<size_t>(1, kernels.size())));
  std::vector<std::thread> threads;
  for (auto &worker : workers)
    threads.emplace_back([&worker] { worker->run(); });
  for (std::thread &thread : threads)
    thread.join();
  HostObjects result;
  for (auto &worker : workers) {
    if (!worker->error.empty())
      return llvm::createStringError("kernel code generation: %s", worker->error.c_str());
    result.objects.push_back(std::move(worker->object));
    result.facts.merge(worker->facts);
  }
  return result;
}
