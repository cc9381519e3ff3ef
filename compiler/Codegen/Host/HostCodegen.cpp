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

// One worker's share of the kernels. It has a context of its own, so that workers share nothing. Each kernel is a
// module and an object file of its own. So its code does not depend on the other kernels of a model, and can be cached
// (KernelCache.h).
class Worker {
public:
  Worker(const HostTarget &target, const HostCodegenOptions &options, const DialectRegistry &dialects)
      : target(target), options(options), dialects(dialects) {}
  void add(IsolatedKernel kernel) { kernels.push_back(std::move(kernel)); }
  void run();
  std::string error;
  std::vector<std::string> objects;
  std::map<std::string, rt::KernelFacts> facts;
  std::map<std::string, std::string> listings;

private:
  llvm::Error compile(const IsolatedKernel &kernel, MLIRContext &context);
  llvm::Expected<std::string> code(const KernelGraph &graph, MLIRContext &context, llvm::StringRef label);

  const HostTarget &target;
  const HostCodegenOptions &options;
  const DialectRegistry &dialects; // of the module: a plug-in's ops may be among the kernels
  std::vector<IsolatedKernel> kernels;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace

// Names in a kernel's own object file. The symbol is renamed afterwards to that of the model.
static constexpr llvm::StringLiteral kEntry = "kernel", kBody = "kernel.body";

// void kernel(void *const *buffers, int64_t begin, int64_t end): loads the pointers and calls the body.
static void addEntry(llvm::Module &module, ArrayRef<unsigned> buffers) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i64}, false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kEntry, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  SmallVector<llvm::Value *> arguments;
  for (unsigned buffer : buffers)
    arguments.push_back(builder.CreateLoad(pointer, builder.CreateConstGEP1_64(pointer, function->getArg(0), buffer)));
  arguments.push_back(function->getArg(1));
  arguments.push_back(function->getArg(2));
  llvm::Function *body = module.getFunction(kBody);
  builder.CreateCall(body, arguments);
  builder.CreateRetVoid();
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  // If it were inlined, its noalias arguments would become metadata, which later passes may drop.
  body->addFnAttr(llvm::Attribute::NoInline);
}

llvm::Expected<std::string> Worker::code(const KernelGraph &graph, MLIRContext &context, llvm::StringRef label) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  SmallVector<unsigned> buffers;
  if (failed(emitLoops(graph, kBody, *module, buffers)) || failed(lowerToLLVMDialect(*module)))
    return llvm::createStringError(""); // a diagnostic says why
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*module, llvmContext);
  if (!code)
    return llvm::createStringError("the kernels have no LLVM IR");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  addEntry(*code, buffers);
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
  optimize(*code, *machine);
  if (options.withListings) {
    llvm::raw_string_ostream stream(listings[label.str()]);
    stream << *code;
  }
  return emitMachineCode(*code, *machine, llvm::CodeGenFileType::ObjectFile);
}

llvm::Error Worker::compile(const IsolatedKernel &kernel, MLIRContext &context) {
  ParsedKernel parsed = parseKernel(kernel.text, context);
  if (!parsed.kernel)
    return llvm::createStringError("");
  FailureOr<KernelGraph> graph = KernelGraph::build(parsed.kernel);
  if (failed(graph))
    return llvm::createStringError("");
  facts[kernel.label] = factsOf(*graph, kernel, LoopForm::choose(*graph).extent);
  std::string key = options.cache ? options.cache->key(kernel.text, target) : "";
  std::optional<std::string> object = options.cache && !options.withListings ? options.cache->find(key) : std::nullopt;
  if (!object) {
    auto compiled = code(*graph, context, kernel.label);
    if (!compiled)
      return compiled.takeError();
    object = std::move(*compiled);
    if (options.cache)
      options.cache->add(key, *object);
  }
  auto named = renameSymbol(*object, kEntry, options.prefix + kernel.label);
  if (!named)
    return named.takeError();
  objects.push_back(std::move(*named));
  return llvm::Error::success();
}

void Worker::run() {
  DialectRegistry registry;
  registerLoopDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  context.appendDialectRegistry(dialects);
  std::string diagnostic;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &one) {
    if (diagnostic.empty())
      diagnostic = one.str();
    return success();
  });
  auto made = makeTargetMachine(target);
  if (!made) {
    error = llvm::toString(made.takeError());
    return;
  }
  machine = std::move(*made);
  for (const IsolatedKernel &kernel : kernels) {
    llvm::Error failure = compile(kernel, context);
    if (!failure)
      continue;
    error = llvm::toString(std::move(failure));
    if (error.empty())
      error = diagnostic.empty() ? "a kernel could not be lowered" : diagnostic;
    return;
  }
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
    llvm::append_range(result.objects, std::move(worker->objects));
    result.facts.merge(worker->facts);
    result.listings.merge(worker->listings);
  }
  return result;
}
