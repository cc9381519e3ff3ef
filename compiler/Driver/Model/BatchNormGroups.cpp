#include "compiler/Driver/Model/BatchNormGroups.h"

#include "compiler/Driver/Model/BatchedModel.h"
#include "compiler/Support/Error.h"
#include "compiler/Training/Chunks/SampleDims.h"
#include "dialects/Cleave/IR/Algebra.h"

using namespace cleave;

// If an op normalizes a view [groups, n / groups, c, area] over dimensions 1 and 3, returns the value before this
// reshape. Otherwise returns null.
static mlir::Value normalizedInGroups(mlir::Operation *op, int64_t groups) {
  auto loops = mlir::dyn_cast<mlir::shard::ShardingInterface>(op);
  mlir::Operation *view = statesItsGroup(op, 0) && loops ? op->getOperand(0).getDefiningOp() : nullptr;
  if (!view)
    return nullptr;
  using mlir::utils::IteratorType;
  const IteratorType parallel = IteratorType::parallel, reduction = IteratorType::reduction;
  llvm::ArrayRef<int64_t> shape = mlir::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getShape();
  bool isGrouped =
      shape.size() == 4 && shape[0] == groups &&
      loops.getLoopIteratorTypes() == llvm::SmallVector<IteratorType>{parallel, reduction, parallel, reduction};
  return isGrouped ? reshapedOperand(view) : mlir::Value();
}

llvm::Error cleave::checkBatchNormGroups(mlir::ModuleOp module, int64_t groups) {
  auto function = modelFunction(module);
  if (groups <= 1 || !function)
    return llvm::Error::success();
  SampleDims dims(function);
  for (mlir::Operation &op : function.getBody().front()) {
    mlir::Value samples = normalizedInGroups(&op, groups);
    if (!samples)
      continue;
    auto at = dims.get(samples);
    int64_t size = mlir::cast<mlir::RankedTensorType>(samples.getType()).getDimSize(0);
    if (at && at->dim == 0 && at->count * at->inner == size)
      continue;
    auto node = mlir::dyn_cast<mlir::NameLoc>(op.getLoc());
    return makeError(
        (node ? node.getName().str() : "a BatchNormalization") +
        ": with --batch-norm local each rank takes the statistics of its own samples, and " +
        (at ? "they do not lie outermost in dimension 0 of the input" : "where they lie in the input is not known") +
        "; use --batch-norm sync, or put the batch first");
  }
  return llvm::Error::success();
}
