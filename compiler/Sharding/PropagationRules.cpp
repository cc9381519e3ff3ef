// Propagation's rules for ops whose operands are not all whole or split alike: unreduced sums, values of an owner, and
// what is on its way to a split state. Each rule answers for one op, or leaves it to the next; loops come last
// (Propagation.cpp).
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

// More elements than it takes (pad, broadcast): reduced before, they are fewer.
static bool makesMore(mlir::Operation *op) {
  int64_t taken = 0;
  for (Value operand : op->getOperands())
    taken += countElements(operand.getType());
  return countElements(op->getResult(0).getType()) > taken;
}

// Terms are reduced in the type in which they are stored: a cast of terms gives terms, but what is read from a state is
// reduced before it is widened.
static bool widensRead(mlir::Operation *op) {
  int64_t takenBytes = 0;
  for (Value operand : op->getOperands())
    takenBytes += byteSize(operand.getType());
  bool isRead = llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<ReadOp>(); });
  return isRead && byteSize(op->getResult(0).getType()) > takenBytes;
}

static bool isFloat(Value value) {
  return llvm::isa<mlir::FloatType>(llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType());
}

static bool sameAxes(llvm::ArrayRef<llvm::StringRef> a, llvm::ArrayRef<llvm::StringRef> b) {
  return a.size() == b.size() && llvm::all_of(a, [&](llvm::StringRef axis) { return llvm::is_contained(b, axis); });
}

// How a floating-point operand takes part when the result is to be partial as `term` is, and whether it can:
//   a term of the same sum    keeps its splits, as far as the loops have them
//   a zero                    is part of any sum
//   what ranks have parts of  is summed by the op itself, over those very axes (put_add's updates)
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

// Indices and conditions are no terms: along the summed axes they are equal on all ranks, or split as what they belong
// to.
static bool proposeChoice(LoopSharding &loops, mlir::OpOperand &operand, ShardingAttr made, ShardingAttr term) {
  unsigned index = operand.getOperandNumber();
  if (!made.getPartialAxes().empty())
    return false;
  if (isSplitOver(made, term.getPartialAxes()))
    return loops.getOperand(index) == made;
  loops.propose(index, made, false);
  return true;
}

// What earlier micro-batches have left in an accumulator, or a part of it: no terms of another value.
bool Propagation::isEarlierSum(Value value) const {
  mlir::Operation *maker = value.getDefiningOp();
  while (maker && maker->getNumOperands() == 1)
    maker = maker->getOperand(0).getDefiningOp();
  auto read = llvm::dyn_cast_or_null<ReadOp>(maker);
  return read && guesses.contains(symbols.lookup(read.getState()));
}

// Where an accumulator takes terms alone, `widening` can be given their sum instead, by an all-reduce in every
// micro-batch. Does that send less? Terms go to a split state or an owner in half the bytes of an all-reduce. A state of
// terms is reduced once in a step. A split state is gathered to be added to a whole sum, but for the first one: as much
// as its own reductions send, but for one.
bool Propagation::isLessBefore(mlir::Operation *widening, WriteOp write) const {
  ShardingAttr stored = storage.lookup(symbols.lookup(write.getState()));
  bool isSplit = !resolved(stored).isReplicated(), storesTerms = !stored.getPartialAxes().empty();
  int64_t before = 0, times = 1;
  for (Value operand : widening->getOperands())
    if (!made.lookup(operand).getPartialAxes().empty())
      before += 2 * byteSize(operand.getType());
  if (auto count = module->getAttrOfType<mlir::IntegerAttr>(kMicroBatchesAttr); count && (isSplit || storesTerms))
    times = count.getInt();
  return double(before) * double(times) <
         double(byteSize(write.getValue().getType())) * (isSplit || stored.isOwned() ? 1 : 2);
}

// Whether `user` puts other terms to the term `value`, by adding them or laying them beside it; nothing where it takes
// values that are no terms. An operand that comes later is believed to be a term; if it is none, more bytes are sent.
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

// Do the terms that `widening` makes more of cost nothing more? They do not where they reach accumulators through
// linear ops and meet other terms on the way: all of a bucket is reduced in any case, and one member that is whole would
// have each of the others reduced by itself. Example: a table of which the model takes the first rows. Their gradient
// is padded, and lies in the bucket with those of other parameters.
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

// A linear op of partial terms gives a partial result, unless fewer bytes are sent if its operands are reduced.
bool Propagation::passPartial(mlir::Operation *op) {
  ShardingAttr term;
  for (Value operand : op->getOperands())
    if (ShardingAttr sharding = made.lookup(operand); !term && !sharding.getPartialAxes().empty())
      term = sharding;
  if (!term || term.getKind() != ReduceKind::Sum || op->getNumResults() != 1 || widensRead(op) || !isLinear(op) ||
      (makesMore(op) && !isSummedAnyway(op)))
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

// An op whose result is its owner's takes what the owner has: its own values and those that all ranks have as they are,
// sums reduced to it. What is computed of values that all ranks have stays so.
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

// A sum that some use needs everywhere is reduced once, for its owner too.
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

// A linear op of values that are partial in different ways, on the way to a split state: each operand is brought to the
// state's form, so that an accumulator adds reduced parts. Example: add(read @g, dw) where @g is [["fsdp"]] and dw
// partial over "fsdp": dw is reduced and scattered, the sum is a rank's part.
bool Propagation::passPreferred(mlir::Operation *op) {
  ShardingAttr preference = op->getNumResults() == 1 ? preferred.lookup(op->getResult(0)) : ShardingAttr();
  if (preference && preference.isOwned())
    return false;
  auto isPartial = [&](Value operand) { return !made.lookup(operand).getPartialAxes().empty(); };
  if (!preference || llvm::none_of(op->getOperands(), isPartial) || !isLinear(op))
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
