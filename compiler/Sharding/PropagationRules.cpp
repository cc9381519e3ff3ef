// Propagation's rules for ops whose operands are not all whole or split alike: unreduced sums, values of an owner, and
// values that are written to a split state. Each rule decides about one op, or leaves it to the next rule. Loops come
// last (Propagation.cpp).
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/Propagation.h"
#include "compiler/Sharding/ShardingForms.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::Value;
using mlir::func::FuncOp;

static bool sameAxes(llvm::ArrayRef<llvm::StringRef> a, llvm::ArrayRef<llvm::StringRef> b) {
  return a.size() == b.size() && llvm::all_of(a, [&](llvm::StringRef axis) { return llvm::is_contained(b, axis); });
}

// Proposes how a floating-point operand takes part if the result is partial as `term` is. Returns false if it cannot:
//   a term of the same sum    keeps its splits, as far as the loops have them
//   a zero                    is part of any sum
//   a split operand           is summed by the op itself, over exactly these axes (put_add's updates)
static bool proposeTerm(LoopSharding &loops, mlir::OpOperand &operand, ShardingAttr made, ShardingAttr term) {
  unsigned index = operand.getOperandNumber();
  auto axes = term.getPartialAxes();
  if (made.getKind() == ReduceKind::Sum && sameAxes(made.getPartialAxes(), axes))
    return loops.propose(index, resolved(made), false);
  if (isZero(operand.get()))
    return true;
  return made.getPartialAxes().empty() && loops.propose(index, made) && sameAxes(loops.getSummedAxes(index), axes);
}

static bool isSplitOver(ShardingAttr sharding, llvm::ArrayRef<llvm::StringRef> axes) {
  return llvm::any_of(llvm::seq<int64_t>(0, sharding.getDims().size()), [&](int64_t dim) {
    return llvm::any_of(sharding.getDimAxes(dim), [&](llvm::StringRef axis) { return llvm::is_contained(axes, axis); });
  });
}

// Indices and conditions are not terms. Along the summed axes, they are equal on all ranks, or split as the operand
// that they belong to. Returns false if neither holds.
static bool proposeChoice(LoopSharding &loops, mlir::OpOperand &operand, ShardingAttr made, ShardingAttr term) {
  unsigned index = operand.getOperandNumber();
  if (!made.getPartialAxes().empty())
    return false;
  if (isSplitOver(made, term.getPartialAxes()))
    return loops.getOperand(index) == made;
  loops.propose(index, made, false);
  return true;
}

// Makes the result of a linear op of partial terms partial, unless fewer bytes are sent if its operands are reduced.
bool Propagation::passPartial(mlir::Operation *op) {
  ShardingAttr term;
  for (Value operand : op->getOperands())
    if (ShardingAttr sharding = made.lookup(operand); !term && !sharding.getPartialAxes().empty())
      term = sharding;
  if (!term || term.getKind() != ReduceKind::Sum || op->getNumResults() != 1 || !terms.makesTerms(op))
    return false;
  LoopSharding loops(op, mesh);
  auto isTerm = [&](mlir::OpOperand &operand) { return !made.lookup(operand.get()).getPartialAxes().empty(); };
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (isTerm(operand))
      loops.setPartial(operand.getOperandNumber());
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (isFloat(operand.get()) && !proposeTerm(loops, operand, made.lookup(operand.get()), term))
      return false;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (!isFloat(operand.get()) && !proposeChoice(loops, operand, made.lookup(operand.get()), term))
      return false;
  for (mlir::OpOperand &operand : op->getOpOperands()) {
    ShardingAttr sharding = loops.getOperand(operand.getOperandNumber());
    used[&operand] = isTerm(operand) ? term.withDims(sharding.getDims()) : sharding;
  }
  made[op->getResult(0)] = term.withDims(loops.getResult(0).getDims());
  return true;
}

// If a result is its owner's, the op takes values that the owner has: its own values and those that all ranks have as
// they are, and sums reduced to it. An op on values that all ranks have is not the owner's.
bool Propagation::passOwned(mlir::Operation *op) {
  ShardingAttr preference = op->getNumResults() == 1 ? preferences.of(op->getResult(0)) : ShardingAttr();
  auto isEverywhere = [&](Value operand) {
    ShardingAttr sharding = made.lookup(operand);
    return sharding.getPartialAxes().empty() && !sharding.isOwned();
  };
  if (!preference || !preference.isOwned() || llvm::all_of(op->getOperands(), isEverywhere))
    return false;
  SmallVector<ShardingAttr> forms;
  for (Value operand : op->getOperands()) {
    ShardingAttr sharding = made.lookup(operand);
    bool isPlain = sharding.isReplicated() || sharding.isOwned();
    forms.push_back(isPlain ? sharding : ownedStorage(llvm::cast<mlir::RankedTensorType>(operand.getType()), dataAxes));
    if (mlir::failed(planReshard(sharding, forms.back())))
      return false;
  }
  for (mlir::OpOperand &operand : op->getOpOperands())
    used[&operand] = forms[operand.getOperandNumber()];
  made[op->getResult(0)] = ownedStorage(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()), dataAxes);
  return true;
}

// If some use needs a sum on all ranks, the sum is reduced once, for its owner too.
void Propagation::shareReductions(FuncOp function) {
  function.walk([&](mlir::Operation *op) {
    for (Value result : op->getResults()) {
      ShardingAttr sharding = made.lookup(result);
      if (!sharding || sharding.getPartialAxes().empty())
        continue;
      auto isWhole = [&](mlir::OpOperand &use) { return used.lookup(&use) && used.lookup(&use).isReplicated(); };
      if (llvm::none_of(result.getUses(), isWhole))
        continue;
      for (mlir::OpOperand &use : result.getUses())
        if (used.lookup(&use) && used.lookup(&use).isOwned() && !llvm::isa<WriteOp>(use.getOwner()))
          used[&use] = wholeForm(result.getType());
    }
  });
}

// For a linear op of values that are partial in different ways, whose result is written to a split state. Each operand
// is brought to the state's form, so that an accumulator adds reduced parts. Example: add(read @g, dw), if @g is
// [["fsdp"]] and dw is partial over "fsdp": dw is reduced and scattered, and the sum is a rank's part. If dw is widened
// first, it has already been brought to this form, and the sum stays in it.
bool Propagation::passPreferred(mlir::Operation *op) {
  ShardingAttr preference = op->getNumResults() == 1 ? preferences.of(op->getResult(0)) : ShardingAttr();
  if (preference && preference.isOwned())
    return false;
  auto isTerm = [&](Value operand) {
    return !made.lookup(operand).getPartialAxes().empty() || states.isReducedBefore(operand.getDefiningOp());
  };
  if (!preference || llvm::none_of(op->getOperands(), isTerm) || !isLinear(op))
    return false;
  LoopSharding loops(op, mesh);
  if (!loops.propose(op->getNumOperands(), resolved(preference), /*allowReduction=*/false))
    return false;
  auto formOf = [&](unsigned index) {
    ShardingAttr dims = loops.getOperand(index);
    return isFloat(op->getOperand(index)) ? preference.withDims(dims.getDims()) : dims;
  };
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (mlir::failed(planReshard(made.lookup(operand.get()), formOf(operand.getOperandNumber()))))
      return false;
  for (mlir::OpOperand &operand : op->getOpOperands())
    used[&operand] = formOf(operand.getOperandNumber());
  made[op->getResult(0)] = preference;
  return true;
}
