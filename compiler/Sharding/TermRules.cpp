#include "compiler/Sharding/TermRules.h"
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/ShardingForms.h"

#include "llvm/ADT/PointerIntPair.h"
#include "llvm/ADT/SetVector.h"

using namespace cleave;
using mlir::Value;

static int64_t countElements(mlir::Type type) { return llvm::cast<mlir::RankedTensorType>(type).getNumElements(); }

// True if the op makes more elements than it takes (pad, broadcast). Fewer elements are reduced before it than after
// it.
static bool makesMore(mlir::Operation *op) {
  int64_t taken = 0;
  for (Value operand : op->getOperands())
    taken += countElements(operand.getType());
  return countElements(op->getResult(0).getType()) > taken;
}

// True for a linear combination of states: the tied gradient of two stages is the sum of what each has stored.
static bool isMadeOfReads(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  bool reads = false;
  for (size_t i = 0; i < reached.size(); ++i) {
    mlir::Operation *maker = reached[i].getDefiningOp();
    bool isRead = llvm::isa_and_nonnull<ReadOp>(maker);
    reads |= isRead;
    if (isRead || isZero(reached[i]))
      continue;
    if (!maker || !isLinear(maker))
      return false;
    for (Value operand : maker->getOperands())
      if (isFloat(operand))
        reached.insert(operand);
  }
  return reads;
}

// True if the op widens a value that it reads from states. Terms are reduced in the type in which they are stored: a
// cast of terms gives terms, but a value that is read from states is reduced before it is widened.
static bool widensRead(mlir::Operation *op) {
  int64_t takenBytes = 0;
  for (Value operand : op->getOperands())
    takenBytes += byteSize(operand.getType());
  return byteSize(op->getResult(0).getType()) > takenBytes && llvm::any_of(op->getOperands(), isMadeOfReads);
}

bool TermRules::makesTerms(mlir::Operation *op) const {
  return !widensRead(op) && !states.isReducedBefore(op) && isLinear(op) && (!makesMore(op) || isReducedWithBucket(op));
}

// True for the sum of earlier micro-batches that an accumulator holds, or a part of it. It has no terms of another
// value.
bool TermRules::isEarlierSum(Value value) const {
  mlir::Operation *maker = value.getDefiningOp();
  while (maker && maker->getNumOperands() == 1)
    maker = maker->getOperand(0).getDefiningOp();
  auto read = llvm::dyn_cast_or_null<ReadOp>(maker);
  return read && states.isAccumulator(read.getState());
}

// Terms go to a split state or an owner in half the bytes of an all-reduce. A state of terms is reduced once in a step.
// A split state must be gathered before a whole sum is added to it, except the first one. These gathers send as much as
// the reductions of terms in all micro-batches but one, so that only the bytes of one reduction are compared.
bool TermRules::isCheaperReducedFirst(mlir::Operation *enlarging, WriteOp write) const {
  ShardingAttr stored = states.getStored(write.getState());
  bool isSplit = !resolved(stored).isReplicated(), storesTerms = !stored.getPartialAxes().empty();
  int64_t before = 0, times = isSplit || storesTerms ? microBatches : 1;
  for (Value operand : enlarging->getOperands())
    if (isTerm(operand))
      before += 2 * byteSize(operand.getType());
  Value reduced = write.getValue();
  if (CastOp cast = states.wideningOf(write); cast && states.isReducedBefore(cast))
    reduced = cast.getOperand();
  return double(before) * double(times) < double(byteSize(reduced.getType())) * (isSplit || stored.isOwned() ? 1 : 2);
}

std::optional<bool> TermRules::combinesTerms(mlir::Operation *user, Value value) const {
  bool combines = false;
  for (Value other : user->getOperands()) {
    if (other == value || !isFloat(other) || isZero(other) || isEarlierSum(other))
      continue;
    if (made.lookup(other) && !isTerm(other))
      return std::nullopt;
    combines = true;
  }
  return combines;
}

bool TermRules::isReducedWithBucket(mlir::Operation *enlarging) const {
  using Reached = llvm::PointerIntPair<Value, 1, bool>; // a value, and whether it combines terms
  llvm::SetVector<Reached> reached;
  reached.insert(Reached(enlarging->getResult(0), false));
  for (size_t i = 0; i < reached.size(); ++i) {
    auto [value, isCombined] = std::make_pair(reached[i].getPointer(), reached[i].getInt());
    for (mlir::Operation *user : value.getUsers()) {
      if (auto write = llvm::dyn_cast<WriteOp>(user)) {
        if (!states.isAccumulator(write.getState()) || (!isCombined && isCheaperReducedFirst(enlarging, write)))
          return false;
        continue;
      }
      auto combines = combinesTerms(user, value);
      if (!combines || !isLinear(user))
        return false;
      reached.insert(Reached(user->getResult(0), isCombined || *combines));
    }
  }
  return true;
}
