#include "test/cuda/emulated/translate/KernelModule.h"
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/ptx/Parser.h"
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>

namespace cleave::emulated {
namespace {

// Turns the register variables into values, and simplifies. O1, because compile time matters and kernels of tests are
// small.
llvm::Expected<llvm::orc::ThreadSafeModule> optimize(llvm::orc::ThreadSafeModule module,
                                                     const llvm::orc::MaterializationResponsibility &) {
  module.withModuleDo([](llvm::Module &m) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graph;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(m, modules);
  });
  return module;
}

std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

std::unique_ptr<llvm::orc::LLJIT> makeJit(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine) {
    error = text(machine.takeError());
    return nullptr;
  }
  auto created = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
  if (!created) {
    error = text(created.takeError());
    return nullptr;
  }
  std::unique_ptr<llvm::orc::LLJIT> jit = std::move(*created);
  jit->getIRTransformLayer().setTransform(optimize);
  llvm::orc::SymbolMap symbols;
  for (const Intrinsic &i : intrinsics())
    symbols[jit->mangleAndIntern(i.name)] = {llvm::orc::ExecutorAddr::fromPtr(i.address),
                                             llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error e = jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    error = text(std::move(e));
  // Resolves functions of the host's library that LLVM itself calls (memset, fma, ...).
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
  if (process)
    jit->getMainJITDylib().addGenerator(std::move(*process));
  else
    error = text(process.takeError());
  return error.empty() ? std::move(jit) : nullptr;
}

// Collects the functions of the module that `function` calls, directly or through others.
void collectCallees(const ptx::Function &function, const ModuleContext &context,
                    std::set<const ptx::Function *> &found) {
  for (const ptx::Statement &s : function.body) {
    if (s.kind != ptx::Statement::Kind::Instruction || s.instruction.opcode[0] != "call")
      continue;
    for (const ptx::Operand &o : s.instruction.operands) {
      auto callee = context.functions.find(o.name);
      if (callee != context.functions.end() && callee->second->hasBody && found.insert(callee->second).second)
        collectCallees(*callee->second, context, found);
    }
  }
}

bool ordersBlocks(const ptx::Function &function) {
  for (const ptx::Statement &s : function.body) {
    if (s.kind != ptx::Statement::Kind::Instruction)
      continue;
    const std::vector<std::string> &op = s.instruction.opcode;
    auto has = [&](const char *part) { return std::find(op.begin(), op.end(), part) != op.end(); };
    bool fence = op[0] == "membar" || op[0] == "fence";
    if ((fence && !has("cta") && !has("proxy")) || ((has("acquire") || has("release") || has("acq_rel")) && has("gpu")))
      return true;
  }
  return false;
}

} // namespace

KernelModule::~KernelModule() = default;

std::unique_ptr<KernelModule> KernelModule::load(const std::string &text, const AllocateVariable &allocate,
                                                 std::string &error) {
  std::unique_ptr<KernelModule> module(new KernelModule);
  if (!ptx::parse(text, module->ptxModule, error) || !module->prepare(allocate, error))
    return nullptr;
  return module;
}

bool KernelModule::prepare(const AllocateVariable &allocate, std::string &error) {
  context.source = &ptxModule;
  for (const ptx::Variable &v : ptxModule.variables) {
    if (v.space == "shared") {
      if (v.isExtern || !v.bytes)
        continue; // dynamic: in each kernel, it comes after the kernel's own
      unsigned align = std::max(1u, v.align);
      context.moduleShared = (context.moduleShared + align - 1) / align * align;
      context.sharedOffsets[v.name] = context.moduleShared;
      context.moduleShared += uint32_t(v.bytes);
    } else if (v.isExtern) {
      error = "the variable " + v.name + " is defined in no module";
      return false;
    } else {
      context.globals[v.name] = allocate(v.bytes, v.initial);
    }
  }
  for (const ptx::Function &f : ptxModule.functions)
    if (f.hasBody || !context.functions.count(f.name))
      context.functions[f.name] = &f;
  jit = makeJit(error);
  if (!jit)
    return false;
  for (const ptx::Function &f : ptxModule.functions)
    if (f.isEntry && !translate(f, error))
      return false;
  return true;
}

bool KernelModule::translate(const ptx::Function &entry, std::string &error) {
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto target = std::make_unique<llvm::Module>(entry.name, *llvmContext);
  target->setDataLayout(jit->getDataLayout());
  std::set<const ptx::Function *> callees;
  collectCallees(entry, context, callees);
  ModuleContext own = context; // shared variables of callees are between the module's and the kernel's
  bool fences = ordersBlocks(entry);
  for (const ptx::Function *f : callees) {
    FunctionTranslator t(*target, own, *f);
    if (!t.run()) {
      error = t.error();
      return false;
    }
    own.moduleShared = t.sharedBytes();
    fences |= ordersBlocks(*f);
  }
  FunctionTranslator t(*target, own, entry);
  if (!t.run()) {
    error = t.error();
    return false;
  }
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*target, &stream)) {
    error = entry.name + ": the translation is not valid: " + broken;
    return false;
  }
  Kernel &k = kernels[entry.name];
  k.name = entry.name;
  k.sharedBytes = t.sharedBytes();
  k.fences = fences;
  for (const ptx::Variable &v : entry.parameters)
    k.parameterBytes.push_back(uint32_t(v.bytes));
  for (int d = 0; d < 3; d++)
    k.requiredThreads[d] = entry.requiredThreads[d];
  if (entry.maxThreads[0])
    k.maxThreads = entry.maxThreads[0] * entry.maxThreads[1] * entry.maxThreads[2];
  if (llvm::Error e = jit->addIRModule({std::move(target), std::move(llvmContext)})) {
    error = text(std::move(e));
    return false;
  }
  return true;
}

const Kernel *KernelModule::find(const std::string &name, std::string &error) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = kernels.find(name);
  if (found == kernels.end())
    return nullptr;
  if (!found->second.entry) {
    auto address = jit->lookup("entry." + name);
    if (!address) {
      error = text(address.takeError());
      return nullptr;
    }
    found->second.entry = address->toPtr<void (*)(void **)>();
  }
  return &found->second;
}

bool KernelModule::variable(const std::string &name, uint64_t &address, uint64_t &bytes) const {
  auto found = context.globals.find(name);
  if (found == context.globals.end())
    return false;
  address = found->second;
  for (const ptx::Variable &v : ptxModule.variables)
    if (v.name == name)
      bytes = v.bytes;
  return true;
}

std::vector<uint64_t> KernelModule::variableAddresses() const {
  std::vector<uint64_t> all;
  for (const auto &[name, address] : context.globals)
    all.push_back(address);
  return all;
}

} // namespace cleave::emulated
