// Lowers loops over plain memory to LLVM IR, and that to machine code. All processors share this part.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_LOWERTOLLVM_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace cleave {

// Registers the dialects and translations that lowerToLLVMDialect needs in the context of its module.
void registerLoopDialects(mlir::DialectRegistry &registry);

// Lowers functions over memrefs (LoopEmitter.h) to functions over pointers, with polynomials for transcendental
// functions. If the processor has no bf16 that keeps all numbers (`hasBFloat16` is false), integers hold the bits of
// bf16 numbers, and integer instructions convert them. An index has `indexBits` bits: 32 if the caller knows
// that every index and offset fits.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module, bool hasBFloat16 = false, unsigned indexBits = 64);

// Optimizes the module with O3 and the vectorizers.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);
// Returns the bytes of an object file, or of assembly (the text of PTX).
llvm::Expected<std::string> emitMachineCode(llvm::Module &module, llvm::TargetMachine &machine,
                                            llvm::CodeGenFileType type = llvm::CodeGenFileType::ObjectFile);

} // namespace cleave

#endif
