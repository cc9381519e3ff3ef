// ElementEmitter: scalar code out of linalg bodies.
#include "compiler/Codegen/Loops/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

// A cast between float types that are computed as one type does nothing but round.
Element ElementEmitter::convertFloat(Operation *op, Element operand) {
  Type narrow = op->getResult(0).getType(), wide = computeType(narrow);
  OpBuilder &builder = scopes.at(operand.depth);
  Value value = operand.value;
  if (isa<arith::ExtFOp>(op))
    return {value.getType() == wide ? value : arith::ExtFOp::create(builder, location, wide, value), operand.depth};
  value = arith::TruncFOp::create(builder, location, narrow, value);
  if (narrow != wide)
    value = arith::ExtFOp::create(builder, location, wide, value);
  return {value, operand.depth};
}

// What is computed elementwise has no fast-math flag that changes a value: its bits are those of its operands' bits, in
// this kernel and in any other, in a vector and in what is left over after the last whole one (Rationale.md, "An
// element's bits"). Only a chain through an accumulator, which one kernel computes once, may be reassociated (that
// vectorizes a sum) and take a product in unrounded; products say that they agree to that, and no other addition asks.
static void relax(Operation *op, bool accumulated) {
  auto flagged = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flagged)
    return;
  arith::FastMathFlags flags = arith::FastMathFlags::none;
  if (accumulated)
    flags = arith::FastMathFlags::contract | arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz;
  else if (isa<arith::MulFOp>(op))
    flags = arith::FastMathFlags::contract;
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
  return {clone->getResult(result), depth};
}
