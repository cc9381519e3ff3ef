// Builds the collectives of a reshard as ops of the shard dialect, and computes where a rank's part begins in the whole
// value.
#ifndef CLEAVE_COMPILER_SHARDING_COLLECTIVES_H
#define CLEAVE_COMPILER_SHARDING_COLLECTIVES_H

#include "compiler/Sharding/ReshardPlanner.h"

namespace cleave {

// Makes the module's grid, coordinate states and collectives. A module needs exactly one such object, because it
// numbers the instances of all collectives.
class Collectives {
public:
  static constexpr llvm::StringLiteral kGrid = "mesh";

  Collectives(mlir::ModuleOp module, MeshAttr mesh);

  // Converts `value` from its local form under `made` to its local form under `used`. `type` is its global type. Fails
  // with an error at `loc` if no collectives lead from `made` to `used`.
  llvm::FailureOr<mlir::Value> reshard(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                       mlir::RankedTensorType type, ShardingAttr made, ShardingAttr used,
                                       mlir::DictionaryAttr reason);

  // Returns the global index of the first element of this rank's part, as a tensor<rank x i64>.
  mlir::Value origin(mlir::OpBuilder &builder, mlir::Location loc, ShardingAttr sharding, mlir::RankedTensorType local);

private:
  llvm::FailureOr<mlir::Value> reshardSplitFactors(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                                   mlir::RankedTensorType type, ShardingAttr made, ShardingAttr used,
                                                   mlir::DictionaryAttr reason);
  // Makes one collective in the form that plans have: it moves parts with contiguous bytes, along the outermost
  // dimension. For any other dimension, the value is transposed before and after, which is a visible copy. An
  // all_to_all becomes an all_gather and an all_slice.
  mlir::Value move(mlir::OpBuilder &builder, mlir::Location loc, ReshardCollective collective, mlir::Value value,
                   mlir::RankedTensorType result, mlir::DictionaryAttr reason);
  mlir::Operation *build(mlir::OpBuilder &builder, mlir::Location loc, const ReshardCollective &collective,
                         mlir::Value input, mlir::RankedTensorType result);
  mlir::Value coordinate(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef axis);

  mlir::ModuleOp module;
  MeshAttr mesh;
  int64_t nextInstance = 0;
};

} // namespace cleave

#endif
