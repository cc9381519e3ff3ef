#include "compiler/Sharding/Preferences.h"
#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/ShardingForms.h"

using namespace cleave;
using mlir::Value;
using mlir::func::FuncOp;

void Preferences::collect(FuncOp function) {
  for (mlir::Operation &op : llvm::reverse(function.getBody().front().without_terminator()))
    if (auto write = llvm::dyn_cast<WriteOp>(op))
      collectWritten(write);
    else if (!runsPerMicroBatch(function))
      preferForOperands(&op);
}

void Preferences::collectWritten(WriteOp write) {
  StateOp state = states.stateOf(write.getState());
  ShardingAttr stored = states.getStored(state);
  if (isSplit(stored) || stored.isOwned()) {
    preferred.try_emplace(write.getValue(), stored);
    if (CastOp widening = states.wideningOf(write))
      preferred.try_emplace(widening.getResult(), stored);
    return;
  }
  bool isUpdated = !ownerAxes.empty() && !runsPerMicroBatch(write->getParentOfType<FuncOp>());
  if (isUpdated && state.getRole() == Role::Parameter)
    preferred.try_emplace(write.getValue(), ownedStorage(state.getTensorType(), ownerAxes));
}

void Preferences::preferForOperands(mlir::Operation *op) {
  ShardingAttr preference = op->getNumResults() == 1 ? of(op->getResult(0)) : ShardingAttr();
  if (!preference)
    return;
  if (preference.isOwned()) {
    for (Value operand : op->getOperands())
      preferred.try_emplace(operand, ownedStorage(llvm::cast<mlir::RankedTensorType>(operand.getType()), ownerAxes));
    return;
  }
  LoopSharding loops(op, mesh);
  if (!loops.propose(op->getNumOperands(), resolved(preference), /*allowReduction=*/false))
    return;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (ShardingAttr sharding = loops.getOperand(operand.getOperandNumber()); isSplit(sharding))
      preferred.try_emplace(operand.get(), sharding);
}
