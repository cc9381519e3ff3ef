// Plain functions that several ops use to answer their interfaces.
#include "dialects/Cleave/IR/CleaveInterfaces.h"

using namespace cleave;

int64_t cleave::byteSize(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  int64_t bits = tensor.getElementType().getIntOrFloatBitWidth();
  return tensor.getNumElements() * ((bits + 7) / 8);
}

bool cleave::computesElementsAlone(mlir::Operation *op) {
  ComputeKind kind = llvm::cast<ComputeOpInterface>(op).getComputeKind();
  if (kind != ComputeKind::View && kind != ComputeKind::Fusible)
    return false;
  auto loops = llvm::dyn_cast<mlir::shard::ShardingInterface>(op);
  return !loops || !llvm::is_contained(loops.getLoopIteratorTypes(), mlir::utils::IteratorType::reduction);
}

llvm::SmallVector<ByteView> cleave::byteViews(mlir::Operation *op) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  return compute ? compute.getByteViews() : llvm::SmallVector<ByteView>();
}

OpCost cleave::elementwiseCost(mlir::Operation *op) {
  OpCost cost;
  for (mlir::Type type : op->getOperandTypes())
    cost.bytes += byteSize(type);
  for (mlir::Type type : op->getResultTypes()) {
    cost.bytes += byteSize(type);
    cost.flops += llvm::cast<mlir::RankedTensorType>(type).getNumElements();
  }
  return cost;
}
