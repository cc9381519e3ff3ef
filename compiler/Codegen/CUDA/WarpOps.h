// What threads of a block do together: exchange values in a warp and through shared memory.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_WARPOPS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_WARPOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// The value that lane `lane ^ mask` of the warp has; all lanes take part.
mlir::Value exchange(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, unsigned mask);

// An array in shared memory, one slot of 8 bytes for each of `slots` values.
class SharedSlots {
public:
  SharedSlots(mlir::ModuleOp module, llvm::StringRef name, int64_t slots);
  void store(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot, mlir::Value value) const;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot, mlir::Type type) const;

private:
  mlir::Value address(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot) const;
  std::string name;
  mlir::Type array;
};

// All threads of the block, or of the warp, have come here, and see what the others wrote before.
void syncBlock(mlir::OpBuilder &builder, mlir::Location location);
void syncWarp(mlir::OpBuilder &builder, mlir::Location location);

} // namespace cleave

#endif
