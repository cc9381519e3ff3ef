// What threads of a block do together: exchange values in a warp and through shared memory.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_WARPOPS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_WARPOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// The value that lane `lane ^ mask` of the warp has; all lanes take part.
mlir::Value exchange(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, unsigned mask);

// An array that threads write for each other, one slot of 8 bytes for each of `slots` values: in the shared memory of a
// block, or in the device's memory for all blocks of a launch.
class Slots {
public:
  enum class Where { Block, Device };
  Slots(mlir::ModuleOp module, llvm::StringRef name, int64_t slots, Where where);
  void store(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot, mlir::Value value) const;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot, mlir::Type type) const;
  // Adds one to an i32, which is 0 when the program starts, and gives what was there before; one thread at a time.
  mlir::Value increment(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot) const;

private:
  mlir::Value address(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot) const;
  std::string name;
  unsigned space;
  bool isVolatile; // other blocks write it
};

// All threads of the block, or of the warp, have come here, and see what the others wrote before.
void syncBlock(mlir::OpBuilder &builder, mlir::Location location);
void syncWarp(mlir::OpBuilder &builder, mlir::Location location);
// What this thread wrote before is seen by all of the device before what it writes after.
void fenceDevice(mlir::OpBuilder &builder, mlir::Location location);

} // namespace cleave

#endif
