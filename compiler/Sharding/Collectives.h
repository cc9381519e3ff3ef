// Collectives of a reshard as ops of the shard dialect, and the place of a rank's part in the whole.
#ifndef CLEAVE_COMPILER_SHARDING_COLLECTIVES_H
#define CLEAVE_COMPILER_SHARDING_COLLECTIVES_H

#include "compiler/Sharding/ReshardPlanner.h"

namespace cleave {

// Makes the module's grid, coordinate states and collectives. One object a module: instances are numbered through.
class Collectives {
public:
  static constexpr llvm::StringLiteral kGrid = "mesh";

  Collectives(mlir::ModuleOp module, MeshAttr mesh);

  // `value`, local to `made`, as it is local to `used`. `type` is its global type.
  llvm::FailureOr<mlir::Value> reshard(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                       mlir::RankedTensorType type, ShardingAttr made, ShardingAttr used,
                                       const llvm::Twine &reason);

  // The global index of the first element of this rank's part, tensor<rank x i64>.
  mlir::Value origin(mlir::OpBuilder &builder, mlir::Location loc, ShardingAttr sharding, mlir::RankedTensorType local);

private:
  llvm::FailureOr<mlir::Value> reshardBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                             mlir::RankedTensorType type, ShardingAttr made, ShardingAttr used,
                                             const llvm::Twine &reason);
  // One collective, as what plans have: parts whose bytes lie together, along the outermost dimension. Along another
  // one the value is transposed before and after, a copy that can be seen; an all_to_all is a gather and a slice.
  mlir::Value move(mlir::OpBuilder &builder, mlir::Location loc, ReshardCollective collective, mlir::Value value,
                   mlir::RankedTensorType result, const llvm::Twine &reason);
  mlir::Operation *build(mlir::OpBuilder &builder, mlir::Location loc, const ReshardCollective &collective,
                         mlir::Value input, mlir::RankedTensorType result);
  mlir::Value coordinate(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef axis);

  mlir::ModuleOp module;
  MeshAttr mesh;
  int64_t nextInstance = 0;
};

} // namespace cleave

#endif
