// Operations of several threads of a block: exchanging values in a warp and through shared memory, and barriers.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_WARPOPS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_WARPOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// Returns the value of lane `lane ^ mask` of the warp. All lanes must take part.
mlir::Value exchange(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value, unsigned mask);

// An array in which threads leave values for each other, with a slot of 8 bytes for each of `slots` values. It is in
// the shared memory of a block, or in the device's memory for all blocks of a launch.
class Slots {
public:
  enum class Where { Block, Device };
  Slots(mlir::ModuleOp module, llvm::StringRef name, int64_t slots, Where where);
  void store(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot, mlir::Value value) const;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot, mlir::Type type) const;
  // Atomically adds one to an i32, which is 0 when the program starts, and returns the old value.
  mlir::Value increment(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot) const;

private:
  mlir::Value address(mlir::OpBuilder &builder, mlir::Location location, mlir::Value slot) const;
  std::string name;
  unsigned space;
  bool isVolatile; // other blocks write it
};

// Waits for all threads of the block, or of the warp. After it, each sees what the others wrote before it.
void syncBlock(mlir::OpBuilder &builder, mlir::Location location);
void syncWarp(mlir::OpBuilder &builder, mlir::Location location);
// Orders this thread's writes: the whole device sees those before the fence before those after it.
void fenceDevice(mlir::OpBuilder &builder, mlir::Location location);

} // namespace cleave

#endif
