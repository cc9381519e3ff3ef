// The passes that lead from the step level to the sharded level.
#ifndef CLEAVE_COMPILER_SHARDING_PIPELINE_H
#define CLEAVE_COMPILER_SHARDING_PIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace cleave {

struct ShardingOptions {
  // Mesh axes that split the batch, slowest first. If empty, they are those of dp and fsdp that the mesh has.
  llvm::SmallVector<std::string> dataAxes;
  std::string fsdpStrategy = "no-shard", gradSync, dpSync = "all-reduce"; // StateStorage.h
  std::string offload;                                                    // Offload.h
};

void buildShardingPipeline(mlir::OpPassManager &manager, const ShardingOptions &options = {});

} // namespace cleave

#endif
