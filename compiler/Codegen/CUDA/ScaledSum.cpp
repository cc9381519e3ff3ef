#include "compiler/Codegen/CUDA/ScaledSum.h"

#include "compiler/Codegen/Loops/GenericMatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cleave;

// Returns the op of type Op that makes each element of a value, and its generic; the op is null if another op makes
// them.
template <typename Op> static std::pair<linalg::GenericOp, Op> makerOf(Value value) {
  linalg::GenericOp maker = value ? elementwiseMaker(value) : linalg::GenericOp();
  return {maker, maker ? yieldedOf(maker).getDefiningOp<Op>() : Op()};
}

// Returns the value that a broadcast repeats; null if another op makes the value.
static Value repeatedBy(Value value) {
  linalg::GenericOp maker = value ? elementwiseMaker(value) : linalg::GenericOp();
  auto argument = maker ? dyn_cast<BlockArgument>(yieldedOf(maker)) : BlockArgument();
  return argument ? maker->getOperand(argument.getArgNumber()) : Value();
}

Operation *cleave::maximumOfScaledSum(linalg::GenericOp sum) {
  Terms terms = termsOf(sum);
  if (!isa_and_nonnull<arith::AddFOp>(terms.combiner))
    return nullptr;
  auto [exponential, exp] = makerOf<math::ExpOp>(terms.tensor);
  Type type = exp ? exp.getType() : Type();
  if (!exp || !(type.isF32() || type.isF64()))
    return nullptr;
  auto [difference, sub] = makerOf<arith::SubFOp>(operandOf(exponential, exp.getOperand()));
  if (!sub)
    return nullptr;
  Value x = operandOf(difference, sub.getLhs()), most = repeatedBy(operandOf(difference, sub.getRhs()));
  auto maximum = most ? most.getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
  Terms candidates = maximum ? termsOf(maximum) : Terms();
  bool isMaximum = isa_and_nonnull<arith::MaximumFOp>(candidates.combiner) && candidates.tensor == x &&
                   maximum.getIteratorTypesArray() == sum.getIteratorTypesArray();
  return isMaximum ? maximum : nullptr;
}
