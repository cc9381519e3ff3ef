#include "compiler/Sharding/Pipeline.h"
#include "compiler/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

void cleave::buildShardingPipeline(mlir::OpPassManager &manager, const ShardingOptions &options) {
  AssignShardingsOptions assign;
  assign.dataAxes.assign(options.dataAxes.begin(), options.dataAxes.end());
  assign.fsdpStrategy = options.fsdpStrategy;
  assign.gradSync = options.gradSync;
  assign.dpSync = options.dpSync;
  assign.offload = options.offload;
  manager.addPass(createAssignShardings(assign)); // decides for the whole module, because functions share states
  manager.addPass(createPartition());             // needs all decisions, changes all types at once
  // Runs when all collectives exist, and before kernels are formed of the ops between them.
  manager.addNestedPass<mlir::func::FuncOp>(createCombineReductions());
  manager.addPass(createVerifySharded());
}
