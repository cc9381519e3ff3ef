#include "dialects/Cleave/IR/ComputingKernels.h"

#include "dialects/Cleave/IR/CleaveInterfaces.h"

bool cleave::isComputingKernel(mlir::Operation *op) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  auto cost = llvm::dyn_cast<CostOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::Kernel && (!cost || cost.getCost().flops != 0);
}
