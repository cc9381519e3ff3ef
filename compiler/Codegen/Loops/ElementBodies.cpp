// ElementEmitter: makes scalar code of linalg bodies.
#include "compiler/Codegen/Loops/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace cleave;

Element ElementEmitter::evaluate(Value value, Body &body) {
  if (auto known = body.known.find(value); known != body.known.end())
    return known->second;
  Element element;
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == body.op.getBody()) {
    unsigned number = argument.getArgNumber();
    Value operand = body.op->getOperand(number);
    element = isa<RankedTensorType>(operand.getType()) ? pull(operand, operandIndices(body.op, number, body))
                                                       : evaluate(operand, body);
  } else if (argument) {
    return fail(body.op, "its body uses a scalar argument of the kernel");
  } else {
    element = evaluateOp(value.getDefiningOp(), cast<OpResult>(value).getResultNumber(), body);
  }
  body.known[value] = element;
  return element;
}

Element ElementEmitter::evaluateOp(Operation *op, unsigned result, Body &body) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return body.loops[index.getDim()];
  if (auto number = dyn_cast<arith::ConstantOp>(op))
    return constant(number.getValue());
  if (op->getNumRegions() != 0)
    return fail(op, "ops with regions are not supported in a kernel's scalar code");
  SmallVector<Element> operands;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    for (Value index : extract.getIndices())
      operands.push_back(evaluate(index, body));
    return pullFull(extract.getTensor(), operands);
  }
  bool accumulated = false;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand, body));
    accumulated |= body.accumulated.contains(operand);
  }
  if (accumulated)
    body.accumulated.insert(op->getResult(result));
  return cloneOp(op, result, operands, accumulated);
}

// A cast between float types that are computed in one type only rounds.
Element ElementEmitter::convertFloat(Operation *op, Element operand) {
  Type type = op->getResult(0).getType();
  if (!isa<arith::ExtFOp>(op))
    return rounded(operand, type);
  Type wide = computeType(type);
  if (operand.value.getType() == wide)
    return operand;
  return {arith::ExtFOp::create(scopes.at(operand.depth), location, wide, operand.value), operand.depth};
}

// Rounds to the nearest number of `type`, in the type in which such numbers are computed.
Element ElementEmitter::rounded(Element operand, Type type) {
  OpBuilder &builder = scopes.at(operand.depth);
  Value value = arith::TruncFOp::create(builder, location, type, operand.value);
  if (Type wide = computeType(type); wide != type)
    value = arith::ExtFOp::create(builder, location, wide, value);
  return {value, operand.depth};
}

// True if the value is the same in all iterations of the reduced loops. A value that depends on one of their indices is
// computed from that index.
bool ElementEmitter::isSameForAllTerms(Value value) const {
  SmallVector<Value> stack = {value};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value each = stack.pop_back_val();
    if (!seen.insert(each).second || matchPattern(each, m_Constant()))
      continue;
    for (auto [dim, index] : llvm::zip_equal(graph.getDims(), loopIndices))
      if (dim.reduced && index.value == each)
        return false;
    if (Operation *maker = each.getDefiningOp())
      llvm::append_range(stack, maker->getOperands());
  }
  return true;
}

// True if LLVM could take a factor out of the sum of this term and others. It takes a sign out first.
bool ElementEmitter::hasCommonFactor(Value term) const {
  Operation *maker = term.getDefiningOp();
  while (isa_and_nonnull<arith::NegFOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(maker))
    return false;
  bool isProduct = isa<arith::MulFOp>(maker);
  return isSameForAllTerms(maker->getOperand(1)) || (isProduct && isSameForAllTerms(maker->getOperand(0)));
}

// An elementwise op has no fast-math flag that changes a value. Its bits depend only on its operands' bits, in this
// kernel and in any other, in a vector and in the rest after the last whole vector (Rationale.md, "An element's bits").
// Only a chain through an accumulator, which one kernel computes once, may be reassociated (this vectorizes a sum) and
// may use a product without rounding it. LLVM needs the flag `contract` on both ops: products always have it, and of
// additions only those of chains.
//
// Two kinds of chains may not be reassociated as freely, because they could overflow although their terms, in order, do
// not:
// - x1 c + x2 c + ... With `reassoc` and `nsz`, LLVM makes (x1 + x2 + ...) c of it, and the same of quotients. Without
//   `nsz` it does not.
// - x1 x2 ..., whose lanes are products of other terms than the whole.
void ElementEmitter::relax(Operation *op, bool accumulated) const {
  auto flagged = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flagged)
    return;
  arith::FastMathFlags flags = arith::FastMathFlags::none;
  if (accumulated || isa<arith::MulFOp>(op))
    flags = arith::FastMathFlags::contract;
  if (accumulated && !isa<arith::MulFOp>(op)) {
    flags = flags | arith::FastMathFlags::reassoc;
    bool isSum = isa<arith::AddFOp, arith::SubFOp>(op);
    if (!isSum || llvm::none_of(op->getOperands(), [&](Value operand) { return hasCommonFactor(operand); }))
      flags = flags | arith::FastMathFlags::nsz;
  }
  op->setAttr(flagged.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

Element ElementEmitter::cloneOp(Operation *op, unsigned result, ArrayRef<Element> operands, bool accumulated) {
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return convertFloat(op, operands[0]);
  if (isa<UnrealizedConversionCastOp>(op))
    return operands[0]; // between signed, unsigned and signless integers
  OperationState state(location, op->getName());
  unsigned depth = 0;
  for (Element operand : operands) {
    depth = std::max(depth, operand.depth);
    state.operands.push_back(operand.value);
  }
  for (Type type : op->getResultTypes())
    state.types.push_back(computeType(type));
  state.attributes.append(op->getAttrs().begin(), op->getAttrs().end());
  Operation *clone = scopes.at(depth).create(state);
  relax(clone, accumulated);
  Element element{clone->getResult(result), depth};
  // Bodies round the numbers that they compute, except for an integer that becomes a number of a narrow type.
  Type type = op->getResult(result).getType();
  bool isWider = isa<arith::SIToFPOp, arith::UIToFPOp>(op) && type != element.value.getType();
  return isWider ? rounded(element, type) : element;
}
