#include "dialects/Cleave/IR/ComputingKernels.h"

#include "dialects/Cleave/IR/CleaveInterfaces.h"
#include "dialects/Cleave/IR/GradientFlow.h"

bool cleave::isComputingKernel(mlir::Operation *op) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  auto cost = llvm::dyn_cast<CostOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::Kernel && (!cost || cost.getCost().flops != 0);
}

bool cleave::isProductKernel(mlir::Operation *op) {
  return isComputingKernel(op) && llvm::count_if(op->getOperands(), mayHaveGradient) > 1;
}
