#include "compiler/Import/ONNX/Operators/RandomMasks.h"

#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Messages.h"
#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace cleave::onnx_import {
namespace {

// Returns the number that all elements of a constant equal, looking through broadcasts, or nullopt.
std::optional<double> numberOf(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

// A mask of ones and zeros, and the probability of a one.
struct Mask {
  Value value;
  double probability;
};

// Finds cast(uniform < number) to floating point, with the comparison in any direction.
void findCompared(CompareOp compare, Value uniform, SmallVectorImpl<Mask> &masks) {
  bool left = compare.getLhs() == uniform;
  std::optional<double> number = numberOf(left ? compare.getRhs() : compare.getLhs());
  Predicate predicate = compare.getPredicate();
  bool less = predicate == Predicate::Lt || predicate == Predicate::Le;
  if (!number || (!less && predicate != Predicate::Gt && predicate != Predicate::Ge))
    return;
  double below = std::clamp(*number, 0.0, 1.0);
  for (Operation *user : compare->getUsers())
    if (auto cast = dyn_cast<CastOp>(user))
      if (isa<FloatType>(cast.getResult().getType().getElementType()))
        masks.push_back({cast.getResult(), less == left ? below : 1 - below});
}

// Finds floor(uniform + number) with a number in [0, 1].
void findFloored(AddOp add, Value uniform, SmallVectorImpl<Mask> &masks) {
  std::optional<double> number = numberOf(add.getLhs() == uniform ? add.getRhs() : add.getLhs());
  if (!number || !(*number >= 0 && *number <= 1))
    return;
  for (Operation *user : add->getUsers())
    if (auto floor = dyn_cast<FloorOp>(user))
      masks.push_back({floor.getResult(), *number});
}

// True if the use keeps the value's form, up to a factor: a broadcast, reshape, cast or scaling.
bool keepsForm(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<BroadcastOp, ReshapeOp, CastOp>(user))
    return isa<FloatType>(cast<RankedTensorType>(user->getResult(0).getType()).getElementType());
  bool scales = isa<MulOp>(user) || (isa<DivOp>(user) && use.getOperandNumber() == 0);
  return scales && numberOf(user->getOperand(1 - use.getOperandNumber()));
}

// True if the value is a product with the mask as a factor.
bool hasFactor(Value value, Value mask) {
  SmallVector<Value> open = {value};
  DenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next == mask)
      return true;
    Operation *op = seen.insert(next).second ? next.getDefiningOp() : nullptr;
    if (isa_and_nonnull<BroadcastOp, ReshapeOp, CastOp, MulOp, DivOp>(op))
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

// True if the mask is only used as a factor of products with other values, perhaps after ops that keep its form. A mask
// m of 0 and 1 times itself is m. So the expectation of m * m is not the product of the expectations.
bool isFactor(Value mask) {
  SmallVector<Value> open = {mask};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next.use_empty())
      return false;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (keepsForm(use))
        open.push_back(user->getResult(0));
      else if (!isa<MulOp>(user) || hasFactor(user->getOperand(1 - use.getOperandNumber()), mask))
        return false;
    }
  }
  return true;
}

SmallVector<Mask> masksOf(RandomUniformOp draw) {
  SmallVector<Mask> masks;
  for (Operation *user : draw.getResult().getUsers())
    if (auto compare = dyn_cast<CompareOp>(user))
      findCompared(compare, draw.getResult(), masks);
    else if (auto add = dyn_cast<AddOp>(user))
      findFloored(add, draw.getResult(), masks);
  return masks;
}

// Returns the ops that reach a result or a side effect.
DenseSet<Operation *> usedOps(func::FuncOp function) {
  DenseSet<Operation *> used;
  SmallVector<Operation *> open;
  auto add = [&](Operation *op) {
    if (op && used.insert(op).second)
      open.push_back(op);
  };
  for (Operation &op : function.getBody().front())
    if (op.hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(&op))
      add(&op);
  while (!open.empty())
    for (Value operand : open.pop_back_val()->getOperands())
      add(operand.getDefiningOp());
  return used;
}

} // namespace

std::vector<std::string> replaceRandomMasks(func::FuncOp function) {
  std::vector<std::string> drawing;
  SmallVector<RandomUniformOp> draws(function.getOps<RandomUniformOp>());
  for (RandomUniformOp draw : draws)
    for (Mask &mask : masksOf(draw)) {
      if (!isFactor(mask.value))
        continue;
      OpBuilder builder(mask.value.getDefiningOp());
      auto type = cast<RankedTensorType>(mask.value.getType());
      mask.value.replaceAllUsesWith(splat(builder, mask.value.getLoc(), type, mask.probability));
    }
  DenseSet<Operation *> used = usedOps(function);
  for (RandomUniformOp draw : draws) {
    if (llvm::none_of(draw.getResult().getUsers(), [&](Operation *user) { return used.contains(user); }))
      continue;
    std::string place = placeOf(draw.getLoc());
    if (drawing.empty() || drawing.back() != place) // one node may draw twice
      drawing.push_back(place);
  }
  return drawing;
}

} // namespace cleave::onnx_import
