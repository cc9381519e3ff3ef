// From loops over plain memory to LLVM IR, and on to machine code: what all processors share.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_LOWERTOLLVM_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace cleave {

// Dialects and translations that lowerToLLVMDialect needs in the context of its module.
void registerLoopDialects(mlir::DialectRegistry &registry);

// Lowers functions over memrefs (LoopEmitter.h) to functions over pointers, with polynomials for transcendental
// functions. Where the processor has no bf16 that keeps all numbers, integers hold its bits and convert them. An index
// has `indexBits` bits: 32 where the caller knows that they hold each index and offset.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module, bool hasBFloat16 = false, unsigned indexBits = 64);

// Optimizes with O3, vectorizers included.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);
// The bytes of an object file, or of assembly (the text of PTX).
llvm::Expected<std::string> emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                            llvm::CodeGenFileType type = llvm::CodeGenFileType::ObjectFile);

} // namespace cleave

#endif
