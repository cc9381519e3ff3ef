#include "compiler/Training/Loss/PositionMask.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Loss/LossTerms.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {

namespace {

bool isZero(Value value) { return getConstantNumber(value) == 0.0; }

// The operands in which the op is linear, as far as one of them is the value of positions and others are factors.
SmallVector<unsigned, 2> nextOperands(Operation *op) {
  if (isa<AddOp, SubOp, MulOp>(op))
    return {0, 1};
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() == ReduceKind::Sum ? SmallVector<unsigned, 2>{0} : SmallVector<unsigned, 2>{};
  if (isa<NegOp, CastOp, ReshapeOp, TransposeOp, DivOp>(op))
    return {0};
  if (auto broadcast = dyn_cast<BroadcastOp>(op); broadcast && tensorType(broadcast.getOperand()).getNumElements() ==
                                                                   tensorType(broadcast.getResult()).getNumElements())
    return {0};
  SmallVector<unsigned, 2> operands;
  if (auto select = dyn_cast<SelectOp>(op)) {
    if (isZero(select.getOnFalse()))
      operands.push_back(1);
    if (isZero(select.getOnTrue()))
      operands.push_back(2);
  }
  return operands;
}

class WayFinder {
public:
  explicit WayFinder(function_ref<bool(Operation *)> isEnd) : isEnd(isEnd) {}

  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<FloatType>(tensorType(value).getElementType()) || !seen.insert(op).second)
      return;
    if (isEnd(op)) {
      way.emplace_back(op, 0);
      ways.push_back(way);
      way.pop_back();
      return;
    }
    for (unsigned operand : nextOperands(op)) {
      way.emplace_back(op, operand);
      visit(op->getOperand(operand));
      way.pop_back();
    }
  }

  SmallVector<LossWay> ways;

private:
  function_ref<bool(Operation *)> isEnd;
  LossWay way;
  llvm::DenseSet<Operation *> seen;
};

// Carries a mask from the sum down the way, in the shape of the value where it stands.
class MaskBuilder {
public:
  MaskBuilder(OpBuilder &builder, Location loc, function_ref<bool(Value)> isClassWeight)
      : builder(builder), loc(loc), a(builder, loc), isClassWeight(isClassWeight) {}

  // False where what a step masks cannot be told.
  bool step(Operation *op, unsigned operand, ArrayRef<int64_t> kept) {
    if (isa<MulOp>(op))
      return maskBy(op->getOperand(1 - operand));
    if (auto select = dyn_cast<SelectOp>(op))
      return choose(select.getCondition(), operand == 1, mask);
    if (!mask)
      return true;
    ArrayRef<int64_t> shape = tensorType(op->getOperand(operand)).getShape();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      mask = spread(reduce.getDims(), shape, kept);
    else if (auto transpose = dyn_cast<TransposeOp>(op))
      mask = TransposeOp::create(builder, loc, mask, inverse(transpose.getPermutation()));
    else
      mask = a.reshape(mask, shape);
    return true;
  }

  Value mask;

private:
  static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> result(permutation.size());
    for (auto [i, dim] : llvm::enumerate(permutation))
      result[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
    return result;
  }

  // The mask repeated over the dimensions that a sum has taken away, but for `kept` ones.
  Value spread(ArrayRef<int64_t> reduced, ArrayRef<int64_t> shape, ArrayRef<int64_t> kept) {
    SmallVector<int64_t> dims, sizes;
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
      if (llvm::is_contained(kept, dim))
        continue;
      if (!llvm::is_contained(reduced, dim))
        dims.push_back(static_cast<int64_t>(sizes.size()));
      sizes.push_back(shape[static_cast<size_t>(dim)]);
    }
    auto type = RankedTensorType::get(sizes, builder.getI1Type());
    return type == mask.getType() ? mask : Value(BroadcastOp::create(builder, loc, type, mask, dims));
  }

  static bool isOfParameters(Value value) { return sourcesOf(value).parameters; }

  bool choose(Value condition, bool whereTrue, Value &into) {
    if (isOfParameters(condition))
      return false;
    Value chosen = whereTrue ? condition : Value(NotOp::create(builder, loc, condition));
    into = into ? a.mask(into, chosen) : chosen;
    return true;
  }

  bool maskBy(Value factor) {
    Value of;
    if (!read(factor, of))
      return false;
    if (of)
      mask = mask ? a.mask(mask, of) : of;
    return true;
  }

  // Where the factor is not zero; null: nowhere is it. False where that cannot be told.
  bool read(Value factor, Value &of) {
    Operation *op = factor.getDefiningOp();
    if (getConstantNumber(factor) || isClassWeight(factor))
      return true;
    if (tensorType(factor).getElementType().isInteger(1))
      return choose(factor, true, of);
    if (op && isa<CastOp, NegOp>(op))
      return read(op->getOperand(0), of);
    if (op && isa<ReshapeOp, BroadcastOp, TransposeOp>(op)) {
      if (!read(op->getOperand(0), of))
        return false;
      if (of)
        of = ofView(op, of);
      return true;
    }
    if (op && isa<MulOp>(op)) {
      Value left, right;
      if (!read(op->getOperand(0), left) || !read(op->getOperand(1), right))
        return false;
      of = left && right ? a.mask(left, right) : left ? left : right;
      return true;
    }
    auto select = op ? dyn_cast<SelectOp>(op) : SelectOp();
    if (select && (isZero(select.getOnFalse()) || isZero(select.getOnTrue()))) {
      bool whereTrue = isZero(select.getOnFalse());
      return read(whereTrue ? select.getOnTrue() : select.getOnFalse(), of) &&
             choose(select.getCondition(), whereTrue, of);
    }
    if (!isOfParameters(factor))
      of = a.compare(Predicate::Ne, factor, a.splat(tensorType(factor), 0));
    return true;
  }

  Value ofView(Operation *view, Value of) {
    RankedTensorType type = tensorType(view->getResult(0)).clone(builder.getI1Type());
    if (auto transpose = dyn_cast<TransposeOp>(view))
      return TransposeOp::create(builder, loc, of, transpose.getPermutation());
    if (auto broadcast = dyn_cast<BroadcastOp>(view))
      return BroadcastOp::create(builder, loc, type, of, broadcast.getDims());
    return a.reshape(of, type.getShape());
  }

  OpBuilder &builder;
  Location loc;
  Arithmetic a;
  function_ref<bool(Value)> isClassWeight;
};

// Whether nothing but the reduction's own class dimension stands between the step and the end.
bool endsBelow(ArrayRef<LossStep> rest) {
  return llvm::all_of(rest.drop_back(), [](const LossStep &step) { return isa<CastOp, NegOp>(step.first); });
}

} // namespace

SmallVector<LossWay> findWays(Value sum, function_ref<bool(Operation *)> isEnd) {
  WayFinder finder(isEnd);
  finder.visit(sum);
  return std::move(finder.ways);
}

PositionMask buildPositionMask(OpBuilder &builder, const LossWay &way, Operation *end, int64_t dim,
                               function_ref<bool(Value)> isClassWeight) {
  MaskBuilder made(builder, end->getLoc(), isClassWeight);
  Arithmetic a(builder, end->getLoc());
  for (size_t i = 0; i + 1 < way.size(); ++i) {
    auto reduce = dyn_cast<ReduceOp>(way[i].first);
    bool isLast = reduce && llvm::is_contained(reduce.getDims(), dim) && endsBelow(ArrayRef(way).drop_front(i + 1));
    if (!made.step(way[i].first, way[i].second, isLast ? ArrayRef(dim) : ArrayRef<int64_t>()))
      return {false, nullptr};
    if (isLast)
      return {true, made.mask};
  }
  // The classes of a position count together.
  if (made.mask) {
    Value numbers = a.cast(made.mask, builder.getF32Type());
    numbers = ReduceOp::create(builder, end->getLoc(), ReduceKind::Max, numbers, ArrayRef<int64_t>{dim});
    made.mask = a.compare(Predicate::Ne, numbers, a.splat(tensorType(numbers), 0));
  }
  return {true, made.mask};
}

} // namespace cleave
