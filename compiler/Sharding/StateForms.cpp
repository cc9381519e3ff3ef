#include "compiler/Sharding/StateForms.h"
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/ReshardPlanner.h"
#include "compiler/Sharding/ShardingForms.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <utility>

using namespace cleave;
using llvm::SmallVector;
using mlir::Value;
using mlir::func::FuncOp;

//===----------------------------------------------------------------------===//
// StorageLadder
//===----------------------------------------------------------------------===//

bool StorageLadder::accepts(ShardingAttr written) const {
  if (stored.isReplicated())
    return true;
  return isSplit(stored) || stored.isOwned() ? mlir::succeeded(planReshard(written, stored)) : written == stored;
}

void StorageLadder::stepDown(ShardingAttr written) {
  bool isFirst = std::exchange(isWanted, false);
  if (isFirst && isSplit(stored))
    stored = resolved(stored);
  else if (isFirst && written.getPartialAxes().empty() && !written.hasSplitFactor())
    stored = written;
  else
    stored = ShardingAttr::replicated(stored.getContext(), stored.getDims().size());
}

//===----------------------------------------------------------------------===//
// StateForms
//===----------------------------------------------------------------------===//

// Begins with the storage that the policy wants, and with every other accumulator partial over the data axes.
StateForms::StateForms(mlir::ModuleOp module, MeshAttr mesh, const StatePolicy &policy,
                       llvm::ArrayRef<mlir::Attribute> dataAxes)
    : module(module), symbols(module) {
  llvm::DenseMap<mlir::Operation *, llvm::SmallPtrSet<mlir::Operation *, 2>> readers, writers;
  module.walk([&](mlir::Operation *op) {
    if (auto read = llvm::dyn_cast<ReadOp>(op))
      readers[stateOf(read.getState())].insert(op->getParentOfType<FuncOp>());
    if (auto write = llvm::dyn_cast<WriteOp>(op)) {
      writers[stateOf(write.getState())].insert(op->getParentOfType<FuncOp>());
      if (CastOp widening = wideningOf(write))
        widenings[widening] = stateOf(write.getState());
    }
  });
  bool hasServer = policy.dpSync == DpSync::ParameterServer;
  for (StateOp state : module.getOps<StateOp>()) {
    bool isFloat = llvm::isa<mlir::FloatType>(state.getTensorType().getElementType());
    bool isTransient = state.getRole() == Role::Gradient || state.getRole() == Role::Scalar;
    bool isReadElsewhere =
        llvm::any_of(readers[state], [&](mlir::Operation *function) { return !writers[state].contains(function); });
    bool isAccumulator = isFloat && isTransient && !writers[state].empty() && isReadElsewhere && !dataAxes.empty();
    bool hasOwner = hasServer && state.getRole() == Role::Optimizer;
    ShardingAttr wanted =
        wantedStorage(state, mesh, policy, isAccumulator || hasOwner ? dataAxes : llvm::ArrayRef<mlir::Attribute>());
    if (!isAccumulator) {
      fixed[state] = wanted;
      continue;
    }
    if (state.getRole() == Role::Scalar)
      wanted = ShardingAttr::get(wanted.getDims(), dataAxes);
    ladders.try_emplace(state, StorageLadder(wanted));
  }
}

ShardingAttr StateForms::getStored(StateOp state) const {
  auto ladder = ladders.find(state);
  return ladder != ladders.end() ? ladder->second.getStored() : fixed.lookup(state);
}

CastOp StateForms::wideningOf(WriteOp write) const {
  auto type = stateOf(write.getState())->getAttrOfType<mlir::TypeAttr>(kTermTypeAttr);
  if (!type)
    return nullptr;
  SmallVector<Value> terms = {write.getValue()};
  if (mlir::Operation *sum = write.getValue().getDefiningOp(); sum && addsTwoPlainly(sum))
    terms.assign(sum->operand_begin(), sum->operand_end());
  for (Value term : terms)
    if (auto cast = term.getDefiningOp<CastOp>();
        cast && mlir::getElementTypeOrSelf(cast.getOperand()) == type.getValue())
      return cast;
  return nullptr;
}

bool StateForms::isReducedBefore(mlir::Operation *widening) const {
  auto found = widenings.find(widening);
  if (found == widenings.end())
    return false;
  ShardingAttr stored = getStored(llvm::cast<StateOp>(found->second));
  return stored.getPartialAxes().empty() || !resolved(stored).isReplicated();
}

bool StateForms::settle(llvm::function_ref<ShardingAttr(Value)> made) {
  bool isSettled = true;
  module.walk([&](WriteOp write) {
    auto ladder = ladders.find(stateOf(write.getState()));
    ShardingAttr written = made(write.getValue());
    if (ladder == ladders.end() || isZero(write.getValue()) || ladder->second.accepts(written))
      return;
    ladder->second.stepDown(written);
    isSettled = false;
  });
  return isSettled;
}
