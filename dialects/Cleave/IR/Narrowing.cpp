#include "dialects/Cleave/IR/Narrowing.h"

#include "dialects/Cleave/IR/CleaveInterfaces.h"

bool cleave::narrows(mlir::Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto from = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  auto to = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  return from && to && from.getShape() == to.getShape() && byteSize(to) < byteSize(from);
}
