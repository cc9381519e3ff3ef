// From loops over plain memory to LLVM IR, and on to an object file.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_LOWERTOLLVM_H
#define CLEAVE_COMPILER_CODEGEN_HOST_LOWERTOLLVM_H

#include "compiler/Codegen/Host/HostTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace cleave {

// Dialects and translations that lowerToLLVM needs in the context of its module.
void registerHostCodegen(mlir::DialectRegistry &registry);

// Lowers functions over memrefs (LoopEmitter.h) to functions over pointers, with polynomials for transcendental
// functions.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const HostTarget &target);
// Lets multiply-adds round twice, for processors that cannot fuse them.
void splitFusedMultiplyAdds(llvm::Module &module);
// Optimizes with O3, vectorizers included.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);
// The bytes of an object file, or of assembly for debugging.
llvm::Expected<std::string> emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                            llvm::CodeGenFileType type = llvm::CodeGenFileType::ObjectFile);

} // namespace cleave

#endif
