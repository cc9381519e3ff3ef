#include "compiler/Codegen/Host/MachineCode.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ObjectFile.h"
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

llvm::Expected<std::string> cleave::renameSymbol(llvm::StringRef object, llvm::StringRef from, llvm::StringRef to) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file)
    return file.takeError();
  llvm::objcopy::ConfigManager config;
  config.Common.SymbolsToRename[from] = to;
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, **file, stream))
    return error;
  return bytes.str().str();
}
