// Propagation's rules for ops whose operands are not all whole or split alike: unreduced sums, values of an owner, and
// values that are written to a split state. Each rule decides about one op, or leaves it to the next rule. Loops come
// last (Propagation.cpp).
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/Propagation.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/PointerIntPair.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

using namespace cleave;
using llvm::SmallVector;
using mlir::Value;
using mlir::func::FuncOp;

static int64_t countElements(mlir::Type type) { return llvm::cast<mlir::RankedTensorType>(type).getNumElements(); }

// True if the op makes more elements than it takes (pad, broadcast). Fewer elements are reduced before it than after
// it.
static bool makesMore(mlir::Operation *op) {
  int64_t taken = 0;
  for (Value operand : op->getOperands())
    taken += countElements(operand.getType());
  return countElements(op->getResult(0).getType()) > taken;
}

// True if the op widens a value that it reads from a state. Terms are reduced in the type in which they are stored: a
// cast of terms gives terms, but a value that is read from a state is reduced before it is widened.
static bool widensRead(mlir::Operation *op) {
  int64_t takenBytes = 0;
  for (Value operand : op->getOperands())
    takenBytes += byteSize(operand.getType());
  bool isRead = llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<ReadOp>(); });
  return isRead && byteSize(op->getResult(0).getType()) > takenBytes;
}

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

// True for the sum of earlier micro-batches that an accumulator holds, or a part of it. It has no terms of another
// value.
bool Propagation::isEarlierSum(Value value) const {
  mlir::Operation *maker = value.getDefiningOp();
  while (maker && maker->getNumOperands() == 1)
    maker = maker->getOperand(0).getDefiningOp();
  auto read = llvm::dyn_cast_or_null<ReadOp>(maker);
  return read && guesses.contains(symbols.lookup(read.getState()));
}

// An accumulator that takes only terms can get the terms of `widening`'s result, or their sum, if an all-reduce sums
// the operands in every micro-batch. True if the second sends less. Terms go to a split state or an owner in half the
// bytes of an all-reduce. A state of terms is reduced once in a step. A split state must be gathered before a whole sum
// is added to it, except the first one. These gathers send as much as the reductions of terms in all micro-batches but
// one, so that only the bytes of one reduction are compared.
bool Propagation::isLessBefore(mlir::Operation *widening, WriteOp write) const {
  ShardingAttr stored = storage.lookup(symbols.lookup(write.getState()));
  bool isSplit = !resolved(stored).isReplicated(), storesTerms = !stored.getPartialAxes().empty();
  int64_t before = 0, times = 1;
  for (Value operand : widening->getOperands())
    if (!made.lookup(operand).getPartialAxes().empty())
      before += 2 * byteSize(operand.getType());
  if (auto count = module->getAttrOfType<mlir::IntegerAttr>(kMicroBatchesAttr); count && (isSplit || storesTerms))
    times = count.getInt();
  Value reduced = write.getValue();
  if (CastOp cast = wideningOf(write); cast && reducesBefore(cast))
    reduced = cast.getOperand();
  return double(before) * double(times) < double(byteSize(reduced.getType())) * (isSplit || stored.isOwned() ? 1 : 2);
}

// True if the op widens terms for an accumulator that does not hold the terms of all ranks. They are reduced in their
// own type.
bool Propagation::reducesBefore(mlir::Operation *op) const {
  auto found = widenings.find(op);
  if (found == widenings.end())
    return false;
  ShardingAttr stored = storage.lookup(found->second);
  return stored.getPartialAxes().empty() || !resolved(stored).isReplicated();
}

// Returns whether `user` combines the term `value` with other terms, by adding or concatenating them; nothing if it
// takes values that are not terms. An operand that is made later is assumed to be a term. If it is not, more bytes are
// sent.
std::optional<bool> Propagation::meetsTerms(mlir::Operation *user, Value value) const {
  bool meets = false;
  for (Value other : user->getOperands()) {
    if (other == value || !isFloat(other) || isZero(other) || isEarlierSum(other))
      continue;
    if (ShardingAttr sharding = made.lookup(other); sharding && sharding.getPartialAxes().empty())
      return std::nullopt;
    meets = true;
  }
  return meets;
}

// True if the larger terms that `widening` makes do not cost more. They do not if they reach accumulators through
// linear ops and meet other terms on the way: the whole bucket is reduced in any case, and one member that is whole
// would make each of the others be reduced by itself. Example: a model takes the first rows of a table. Their gradient
// is padded, and is in the bucket with those of other parameters.
bool Propagation::isSummedAnyway(mlir::Operation *widening) const {
  using Reached = llvm::PointerIntPair<Value, 1, bool>; // a value, and whether terms have met others in it
  llvm::SetVector<Reached> reached;
  reached.insert(Reached(widening->getResult(0), false));
  for (size_t i = 0; i < reached.size(); ++i) {
    auto [value, hasMet] = std::make_pair(reached[i].getPointer(), reached[i].getInt());
    for (mlir::Operation *user : value.getUsers()) {
      if (auto write = llvm::dyn_cast<WriteOp>(user)) {
        if (!guesses.contains(symbols.lookup(write.getState())) || (!hasMet && isLessBefore(widening, write)))
          return false;
        continue;
      }
      auto meets = meetsTerms(user, value);
      if (!meets || !isLinear(user))
        return false;
      reached.insert(Reached(user->getResult(0), hasMet || *meets));
    }
  }
  return true;
}

// Makes the result of a linear op of partial terms partial, unless fewer bytes are sent if its operands are reduced.
bool Propagation::passPartial(mlir::Operation *op) {
  ShardingAttr term;
  for (Value operand : op->getOperands())
    if (ShardingAttr sharding = made.lookup(operand); !term && !sharding.getPartialAxes().empty())
      term = sharding;
  if (!term || term.getKind() != ReduceKind::Sum || op->getNumResults() != 1 || widensRead(op) || reducesBefore(op) ||
      !isLinear(op) || (makesMore(op) && !isSummedAnyway(op)))
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
  ShardingAttr preference = op->getNumResults() == 1 ? preferred.lookup(op->getResult(0)) : ShardingAttr();
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
          used[&use] = whole(result.getType());
    }
  });
}

// For a linear op of values that are partial in different ways, whose result is written to a split state. Each operand
// is brought to the state's form, so that an accumulator adds reduced parts. Example: add(read @g, dw), if @g is
// [["fsdp"]] and dw is partial over "fsdp": dw is reduced and scattered, and the sum is a rank's part. If dw is widened
// first, it has already been brought to this form, and the sum stays in it.
bool Propagation::passPreferred(mlir::Operation *op) {
  ShardingAttr preference = op->getNumResults() == 1 ? preferred.lookup(op->getResult(0)) : ShardingAttr();
  if (preference && preference.isOwned())
    return false;
  auto isTerm = [&](Value operand) {
    return !made.lookup(operand).getPartialAxes().empty() || reducesBefore(operand.getDefiningOp());
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
