#include "compiler/Training/Loss/PositionMask.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Loss/LossTerms.h"
#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {

namespace {

class PathFinder {
public:
  explicit PathFinder(function_ref<bool(Operation *)> isEnd) : isEnd(isEnd) {}

  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<FloatType>(tensorType(value).getElementType()) || !seen.insert(op).second)
      return;
    if (isEnd(op)) {
      paths.push_back({uses, op});
      return;
    }
    for (const LinearOperand &linear : linearOperands(op)) {
      if (!linear.usesEachOnce)
        continue;
      uses.push_back(&op->getOpOperand(linear.number));
      visit(uses.back()->get());
      uses.pop_back();
    }
  }

  SmallVector<LossPath> paths;

private:
  function_ref<bool(Operation *)> isEnd;
  SmallVector<OpOperand *> uses;
  llvm::DenseSet<Operation *> seen;
};

LinearOperand linearIn(OpOperand *use) {
  return *llvm::find_if(linearOperands(use->getOwner()),
                        [&](const LinearOperand &linear) { return linear.number == use->getOperandNumber(); });
}

// Returns the only operand of an op that moves, casts or negates its elements, or null.
Value getMoved(Operation *op) {
  if (Value carried = carriedOperand(op))
    return carried;
  SmallVector<LinearOperand, 2> linear = linearOperands(op);
  bool isMove =
      linear.size() == 1 && linear[0].usesEachOnce && !linear[0].sums && !linear[0].scale && !linear[0].condition;
  return isMove ? op->getOperand(linear[0].number) : Value();
}

// Carries a mask from the sum down the path. The mask has the shape of the value that the path has reached.
class MaskBuilder {
public:
  MaskBuilder(OpBuilder &builder, Location loc, function_ref<bool(Value)> isClassWeight)
      : builder(builder), loc(loc), a(builder, loc), isClassWeight(isClassWeight) {}

  // Goes from the result of the use's op to the operand, without the operand's dimensions `leftOut`. False if it is not
  // known which positions the op masks.
  bool pass(OpOperand *use, ArrayRef<int64_t> leftOut) {
    LinearOperand linear = linearIn(use);
    if (linear.condition)
      return choose(linear.condition, linear.isWhere, mask);
    if (linear.scale && !linear.divides)
      return maskBy(linear.scale);
    if (mask)
      mask = cast<AlgebraOpInterface>(use->getOwner()).pullBack(builder, loc, mask, linear.number, leftOut);
    return true;
  }

  Value mask;

private:
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

  // Sets `of` to a mask of the positions where the factor is not zero. `of` stays null if the factor masks nothing.
  // False if the mask is not known.
  bool read(Value factor, Value &of) {
    if (getConstantNumber(factor) || isClassWeight(factor))
      return true;
    if (tensorType(factor).getElementType().isInteger(1))
      return choose(factor, true, of);
    if (Operation *op = factor.getDefiningOp()) {
      if (Value moved = getMoved(op)) {
        if (!read(moved, of))
          return false;
        of = of ? moveAlike(op, of) : of;
        return true;
      }
      SmallVector<LinearOperand, 2> linear = linearOperands(op);
      if (!linear.empty() && linear[0].condition)
        return read(op->getOperand(linear[0].number), of) && choose(linear[0].condition, linear[0].isWhere, of);
      if (linear.size() == 2 && linear[0].scale && !linear[0].divides)
        return readProduct(linear[1].scale, linear[0].scale, of);
    }
    if (!isOfParameters(factor))
      of = a.compare(Predicate::Ne, factor, a.splat(tensorType(factor), 0));
    return true;
  }

  bool readProduct(Value x, Value y, Value &of) {
    Value left, right;
    if (!read(x, left) || !read(y, right))
      return false;
    of = left && right ? a.mask(left, right) : left ? left : right;
    return true;
  }

  // Moves the mask as the op moves its operand.
  Value moveAlike(Operation *op, Value of) {
    if (isElementwise(op))
      return of;
    IRMapping mapping;
    mapping.map(op->getOperand(0), of);
    Operation *copy = builder.clone(*op, mapping);
    copy->setLoc(loc);
    copy->getResult(0).setType(tensorType(op->getResult(0)).clone(builder.getI1Type()));
    return copy->getResult(0);
  }

  OpBuilder &builder;
  Location loc;
  Arithmetic a;
  function_ref<bool(Value)> isClassWeight;
};

// True if the use's op sums over dimension `dim` of its operand.
bool sumsOver(OpOperand *use, int64_t dim) {
  auto loops = dyn_cast<shard::ShardingInterface>(use->getOwner());
  if (!loops || !linearIn(use).sums)
    return false;
  AffineMap map = loops.getIndexingMaps()[use->getOperandNumber()];
  AffineExpr loop = dim < map.getNumResults() ? map.getResult(dim) : AffineExpr();
  return loop && isa<AffineDimExpr>(loop) &&
         loops.getLoopIteratorTypes()[cast<AffineDimExpr>(loop).getPosition()] == utils::IteratorType::reduction;
}

// True if there are only casts and negations on the rest of the path.
bool endsBelow(ArrayRef<OpOperand *> rest) {
  return llvm::all_of(rest, [](OpOperand *use) { return getKeptInPlace(use->getOwner()->getResult(0)); });
}

} // namespace

Value getKeptInPlace(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isElementwise(op) ? getMoved(op) : Value();
}

SmallVector<LossPath> findPaths(Value sum, function_ref<bool(Operation *)> isEnd) {
  PathFinder finder(isEnd);
  finder.visit(sum);
  return std::move(finder.paths);
}

PositionMask buildPositionMask(OpBuilder &builder, const LossPath &path, int64_t dim,
                               function_ref<bool(Value)> isClassWeight) {
  MaskBuilder made(builder, path.end->getLoc(), isClassWeight);
  Arithmetic a(builder, path.end->getLoc());
  for (auto [i, use] : llvm::enumerate(path.uses)) {
    bool isLast = sumsOver(use, dim) && endsBelow(ArrayRef(path.uses).drop_front(i + 1));
    if (!made.pass(use, isLast ? ArrayRef(dim) : ArrayRef<int64_t>()))
      return {false, nullptr};
    if (isLast)
      return {true, made.mask};
  }
  // A position counts if one of its classes counts.
  if (made.mask) {
    Value numbers = a.cast(made.mask, builder.getF32Type());
    numbers = ReduceOp::create(builder, path.end->getLoc(), ReduceKind::Max, numbers, ArrayRef<int64_t>{dim});
    made.mask = a.compare(Predicate::Ne, numbers, a.splat(tensorType(numbers), 0));
  }
  return {true, made.mask};
}

} // namespace cleave
