// Imports comparisons, boolean and bitwise operators, and Where.
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Predicates.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

template <Predicate predicate> LogicalResult importCompare(OpContext &op) {
  const Literal *a = op.literal(0), *b = op.literal(1);
  if (a && b && a->element() == b->element())
    if (auto known = mapLiterals(
            *a, *b, op.emit.builder.getI1Type(), [](double x, double y) { return double(holds(predicate, x, y)); },
            [](int64_t x, int64_t y) { return int64_t(holds(predicate, x, y)); }))
      return op.result(std::move(*known));
  if (failed(op.expectBroadcast({op.value(0), op.value(1)})))
    return failure();
  return op.result(op.emit.compare(predicate, op.value(0), op.value(1)));
}

template <typename Op, int64_t (*function)(int64_t, int64_t)> LogicalResult importLogical(OpContext &op) {
  const Literal *a = op.literal(0), *b = op.literal(1);
  if (a && b && !a->isFloat() && a->element() == b->element())
    if (auto known = mapLiterals(
            *a, *b, a->element(), [](double, double) { return 0.0; }, function))
      return op.result(std::move(*known));
  if (isFloat(op.value(0)))
    return op.fail("expected boolean or integer inputs; got floating-point ones");
  if (failed(op.expectBroadcast({op.value(0), op.value(1)})))
    return failure();
  return op.result(op.emit.binary<Op>(op.value(0), op.value(1)));
}

int64_t bitAnd(int64_t a, int64_t b) { return a & b; }
int64_t bitOr(int64_t a, int64_t b) { return a | b; }
int64_t bitXor(int64_t a, int64_t b) { return a ^ b; }

LogicalResult importNot(OpContext &op) {
  if (const Literal *a = op.literal(0); a && a->isBool())
    if (auto known = mapLiterals(
            *a, *a, a->element(), [](double, double) { return 0.0; },
            [](int64_t x, int64_t) { return int64_t(x == 0); }))
      return op.result(std::move(*known));
  if (!elementOf(op.value(0)).isInteger(1))
    return op.fail("expected a boolean input");
  return op.result(op.emit.unary<NotOp>(op.value(0)));
}

LogicalResult importBitwiseNot(OpContext &op) {
  Value x = op.value(0), y = op.emit.asSigned(x); // unsigned bytes become i32
  Value flipped = op.emit.sub(op.emit.splat(isSigned(x) ? -1 : 255, typeOf(y)), y);
  return op.result(op.emit.cast(flipped, elementOf(x)));
}

// Shifts bytes: a product with a power of two, or a quotient by one. A shift by 8 or more gives 0.
LogicalResult importBitShift(OpContext &op) {
  std::string direction = op.stringAttr("direction", "");
  Value x = op.value(0), by = op.value(1);
  bool isLeft = direction == "LEFT";
  if (!isLeft && direction != "RIGHT")
    return op.fail("direction " + quote(direction) + " is not known; expected LEFT or RIGHT");
  auto shape = op.commonShape({x, by});
  if (failed(shape))
    return failure();
  Emitter &emit = op.emit;
  std::vector<int64_t> powers(256, isLeft ? 0 : 256);
  for (int64_t i = 0; i < 8; ++i)
    powers[size_t(i)] = int64_t(1) << i;
  Value table = emit.literal(Literal::ofInts(emit.builder.getI32Type(), {256}, powers));
  Value power = emit.broadcastTo(take(emit, table, emit.asSigned(by), 0), *shape);
  Value wide = emit.broadcastTo(emit.asSigned(x), *shape);
  Value shifted = isLeft ? emit.binary<RemOp>(emit.mul(wide, power), 256.0) : emit.div(wide, power);
  return op.result(emit.cast(shifted, elementOf(x)));
}

LogicalResult importWhere(OpContext &op) {
  const Literal *c = op.literal(0), *t = op.literal(1), *f = op.literal(2);
  if (c && t && f && c->isBool() && t->element() == f->element())
    if (auto known = selectLiteral(*c, *t, *f))
      return op.result(std::move(*known));
  Value condition = op.value(0), onTrue = op.value(1), onFalse = op.value(2);
  if (!elementOf(condition).isInteger(1))
    return op.fail("expected a boolean condition");
  auto shape = op.commonShape({onTrue, onFalse});
  if (failed(shape))
    return failure();
  if (!broadcastShapes(*shape, shapeOf(condition)))
    return op.fail("the condition's shape " + formatShape(shapeOf(condition)) + " does not broadcast with " +
                   formatShape(*shape));
  return op.result(op.emit.select(condition, onTrue, onFalse));
}

LogicalResult importIsNaN(OpContext &op) { return op.result(op.emit.compare(Predicate::Ne, op.value(0), op.value(0))); }

LogicalResult importIsInf(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)))
    return failure();
  bool low = op.intAttr("detect_negative", 1) != 0, high = op.intAttr("detect_positive", 1) != 0;
  if (low && high)
    x = op.emit.unary<AbsOp>(x);
  else if (low)
    x = op.emit.neg(x);
  double wanted = low || high ? INFINITY : NAN; // nothing equals NaN
  return op.result(op.emit.compare(Predicate::Eq, x, wanted));
}

} // namespace

void cleave::onnx_import::addLogicOperators(OperatorTable &table) {
  table.add("Equal", 13, importCompare<Predicate::Eq>);
  table.add("Less", 13, importCompare<Predicate::Lt>);
  table.add("LessOrEqual", 13, importCompare<Predicate::Le>);
  table.add("Greater", 13, importCompare<Predicate::Gt>);
  table.add("GreaterOrEqual", 13, importCompare<Predicate::Ge>);
  table.add("And", 13, importLogical<AndOp, bitAnd>);
  table.add("Or", 13, importLogical<OrOp, bitOr>);
  table.add("Xor", 13, importLogical<XorOp, bitXor>);
  table.add("BitwiseAnd", 18, importLogical<AndOp, bitAnd>);
  table.add("BitwiseOr", 18, importLogical<OrOp, bitOr>);
  table.add("BitwiseXor", 18, importLogical<XorOp, bitXor>);
  table.add("BitwiseNot", 18, importBitwiseNot);
  table.add("BitShift", 13, importBitShift);
  table.add("Not", 13, importNot);
  table.add("Where", 13, importWhere);
  table.add("IsNaN", 13, importIsNaN);
  table.add("IsInf", 13, importIsInf);
}
