#include "compiler/Training/Chunks/OpGradient.h"
#include "compiler/Training/Arithmetic.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace cleave {
namespace {

bool isNarrow(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) && type.getElementTypeBitWidth() < 32;
}

// The ops that are inserted at the builder's insertion point after this object has been made.
class Inserted {
public:
  explicit Inserted(OpBuilder &builder) : block(builder.getInsertionBlock()), end(builder.getInsertionPoint()) {
    before = end == block->begin() ? nullptr : &*std::prev(end);
  }

  llvm::iterator_range<Block::iterator> ops() const {
    return {before ? std::next(before->getIterator()) : block->begin(), end};
  }

  void erase() const {
    SmallVector<Operation *> inserted = llvm::map_to_vector(ops(), [](Operation &op) { return &op; });
    for (Operation *op : llvm::reverse(inserted))
      op->erase();
  }

private:
  Block *block;
  Block::iterator end;
  Operation *before;
};

// True if the op becomes part of a loop, which widens its operands in registers.
bool isComputedByLoops(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute &&
         (compute.getComputeKind() == ComputeKind::Fusible || compute.getComputeKind() == ComputeKind::Composite);
}

// True if one of the ops makes a 16-bit number, and another one uses it. Zeros do not count, because they are exact in
// all types.
bool roundsBetween(const Inserted &inserted) {
  llvm::SmallPtrSet<Operation *, 8> makers;
  for (Operation &op : inserted.ops()) {
    for (Value operand : op.getOperands())
      if (isNarrow(operand) && makers.contains(operand.getDefiningOp()) && !matchPattern(operand, m_AnyZeroFloat()))
        return true;
    makers.insert(&op);
  }
  return false;
}

// An op on 16-bit numbers, and its twin on the same numbers in f32.
class WideTwin {
public:
  WideTwin(OpBuilder &builder, Operation *op) : builder(builder), op(op) {
    IRMapping widened;
    for (Value operand : op->getOperands())
      if (!widened.contains(operand))
        widened.map(operand, widen(operand));
    for (Value result : op->getResults())
      results.push_back(widen(result));
    twin = op->clone(widened);
    for (auto [result, wide] : llvm::zip_equal(twin->getResults(), results))
      result.setType(wide.getType());
  }

  ~WideTwin() {
    twin->replaceAllUsesWith(results);
    twin->destroy();
    for (CastOp cast : casts)
      if (cast->use_empty())
        cast->erase();
  }

  LogicalResult buildGradients(ArrayRef<Value> given, SmallVectorImpl<Value> &gradients) {
    SmallVector<Value> wide = llvm::map_to_vector(given, [&](Value v) { return v ? widen(v) : v; });
    if (failed(cast<DifferentiableOpInterface>(twin).buildVJP(builder, wide, gradients)))
      return failure();
    for (auto [gradient, operand] : llvm::zip_equal(gradients, op->getOperands()))
      if (gradient)
        gradient = narrow(gradient, operand);
    return success();
  }

private:
  Value widen(Value value) {
    if (!isNarrow(value))
      return value;
    Value wide = Arithmetic(builder, op->getLoc()).cast(value, builder.getF32Type());
    casts.push_back(wide.getDefiningOp<CastOp>());
    return wide;
  }

  // If the rule only passes a gradient on, it has computed nothing, and the result's own gradient is returned
  // unchanged.
  Value narrow(Value gradient, Value operand) {
    if (auto result = dyn_cast<OpResult>(gradient); result && result.getOwner() == twin)
      gradient = results[result.getResultNumber()];
    auto widened = gradient.getDefiningOp<CastOp>();
    if (widened && llvm::is_contained(casts, widened) && widened.getOperand().getType() == operand.getType())
      return widened.getOperand();
    return Arithmetic(builder, op->getLoc()).cast(gradient, tensorType(operand).getElementType());
  }

  OpBuilder &builder;
  Operation *op, *twin;
  SmallVector<Value> results; // results of `op`, widened
  SmallVector<CastOp> casts;
};

} // namespace

LogicalResult buildGradient(OpBuilder &builder, DifferentiableOpInterface op, ArrayRef<Value> resultGrads,
                            SmallVectorImpl<Value> &operandGrads) {
  Inserted inserted(builder);
  if (failed(op.buildVJP(builder, resultGrads, operandGrads)))
    return failure();
  if (!isComputedByLoops(op) || !roundsBetween(inserted))
    return success();
  inserted.erase();
  std::fill(operandGrads.begin(), operandGrads.end(), Value());
  return WideTwin(builder, op).buildGradients(resultGrads, operandGrads);
}

} // namespace cleave
