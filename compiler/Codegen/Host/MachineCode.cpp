// LowerToLLVM.h, second half: LLVM's own pipeline.
#include "compiler/Codegen/Host/LowerToLLVM.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace cleave;

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> cleave::makeTargetMachine(const HostTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("no code generator for %s: %s", triple.str().c_str(), error.c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(triple, target.cpu, target.features, options,
                                                                          llvm::Reloc::PIC_, std::nullopt,
                                                                          llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("no machine code for processor '%s'", target.cpu.c_str());
  return machine;
}

void cleave::splitFusedMultiplyAdds(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> fused;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::fma)
        fused.push_back(call);
  for (llvm::IntrinsicInst *call : fused) {
    llvm::IRBuilder<> builder(call);
    llvm::Value *product = builder.CreateFMul(call->getArgOperand(0), call->getArgOperand(1));
    call->replaceAllUsesWith(builder.CreateFAdd(product, call->getArgOperand(2)));
    call->eraseFromParent();
  }
}

void cleave::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

llvm::Expected<std::string> cleave::emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                                    llvm::CodeGenFileType type) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError("this target cannot emit object files");
  passes.run(module);
  return bytes.str().str();
}
