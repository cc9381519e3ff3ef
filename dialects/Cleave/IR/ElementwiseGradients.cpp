// Vector-Jacobian products of the elementwise ops, with PyTorch's conventions at kinks. A rule uses the result instead
// of the operand if it can (exp, tanh, relu), so that one residual serves both directions.
#include "dialects/Cleave/IR/ElementwiseGradients.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;
using mlir::OpBuilder;
using mlir::Value;
using Grads = llvm::SmallVectorImpl<Value>;

// True if no gradient flows: the result has none, or the operands are not floating-point numbers.
static bool noGradient(Value operand, llvm::ArrayRef<Value> resultGrads) {
  auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
  return !resultGrads[0] || !llvm::isa<mlir::FloatType>(type.getElementType());
}

namespace {
// Arithmetic on tensors that reads like the formula.
struct Formula {
  OpBuilder &b;
  mlir::Location loc;
  Value mul(Value x, Value y) { return MulOp::create(b, loc, x, y); }
  Value mul(Value x, double y) { return mul(x, number(x, y)); }
  Value add(Value x, Value y) { return AddOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return SubOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return DivOp::create(b, loc, x, y); }
  Value neg(Value x) { return NegOp::create(b, loc, x); }
  Value number(Value like, double value) { return splat(b, loc, like.getType(), value); }
  Value oneMinus(Value x) { return sub(number(x, 1), x); }
  Value select(Value c, Value yes, Value no) { return SelectOp::create(b, loc, c, yes, no); }
  Value compare(Predicate predicate, Value x, Value y) { return CompareOp::create(b, loc, predicate, x, y); }
  // Returns the gradient of `x` if the op chooses the maximum or minimum of `x` and `other`. Equal operands share it.
  Value wins(Predicate predicate, Value x, Value other, Value gradient) {
    Value loses = select(compare(Predicate::Eq, x, other), mul(gradient, 0.5), number(gradient, 0));
    return select(compare(predicate, x, other), gradient, loses);
  }
};
} // namespace

// Defines the gradient of an op with one operand as `PRODUCT`, the local derivative times the result's gradient.
#define CLEAVE_UNARY_VJP(OP, PRODUCT)                                                                                  \
  mlir::LogicalResult OP::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {       \
    if (noGradient(getOperand(), resultGrads))                                                                         \
      return mlir::success();                                                                                          \
    Formula f{builder, getLoc()};                                                                                      \
    Value g = resultGrads[0], x = getOperand(), y = getResult();                                                       \
    (void)x, (void)y;                                                                                                  \
    operandGrads[0] = PRODUCT;                                                                                         \
    return mlir::success();                                                                                            \
  }
CLEAVE_UNARY_VJP(NegOp, f.neg(g))
CLEAVE_UNARY_VJP(AbsOp, f.mul(g, SignOp::create(builder, getLoc(), x)))
CLEAVE_UNARY_VJP(ExpOp, f.mul(g, y))
CLEAVE_UNARY_VJP(Expm1Op, f.mul(g, f.add(y, f.number(y, 1))))
CLEAVE_UNARY_VJP(LogOp, f.div(g, x))
CLEAVE_UNARY_VJP(Log1pOp, f.div(g, f.add(x, f.number(x, 1))))
CLEAVE_UNARY_VJP(SqrtOp, f.div(g, f.mul(y, 2)))
CLEAVE_UNARY_VJP(RsqrtOp, f.mul(f.mul(g, -0.5), f.mul(y, f.mul(y, y))))
CLEAVE_UNARY_VJP(TanhOp, f.mul(g, f.oneMinus(f.mul(y, y))))
CLEAVE_UNARY_VJP(ErfOp, f.mul(f.mul(g, 1.1283791670955126), ExpOp::create(builder, getLoc(), f.neg(f.mul(x, x)))))
CLEAVE_UNARY_VJP(SigmoidOp, f.mul(g, f.mul(y, f.oneMinus(y))))
CLEAVE_UNARY_VJP(SinOp, f.mul(g, CosOp::create(builder, getLoc(), x)))
CLEAVE_UNARY_VJP(CosOp, f.neg(f.mul(g, SinOp::create(builder, getLoc(), x))))
CLEAVE_UNARY_VJP(ReluOp, f.select(f.compare(Predicate::Le, y, f.number(y, 0)), f.number(g, 0), g))
#undef CLEAVE_UNARY_VJP

// These ops are constant almost everywhere. No gradient means a gradient of zero.
#define CLEAVE_ZERO_VJP(OP)                                                                                            \
  mlir::LogicalResult OP::buildVJP(OpBuilder &, llvm::ArrayRef<Value>, Grads &) { return mlir::success(); }
CLEAVE_ZERO_VJP(SignOp)
CLEAVE_ZERO_VJP(FloorOp)
CLEAVE_ZERO_VJP(CeilOp)
CLEAVE_ZERO_VJP(RoundOp)
#undef CLEAVE_ZERO_VJP

#define CLEAVE_BINARY_VJP(OP, LHS, RHS)                                                                                \
  mlir::LogicalResult OP::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {       \
    if (noGradient(getLhs(), resultGrads))                                                                             \
      return mlir::success();                                                                                          \
    Formula f{builder, getLoc()};                                                                                      \
    Value g = resultGrads[0], a = getLhs(), b = getRhs(), y = getResult();                                             \
    (void)f, (void)a, (void)b, (void)y;                                                                                \
    operandGrads[0] = LHS;                                                                                             \
    operandGrads[1] = RHS;                                                                                             \
    return mlir::success();                                                                                            \
  }
CLEAVE_BINARY_VJP(AddOp, g, g)
CLEAVE_BINARY_VJP(SubOp, g, f.neg(g))
CLEAVE_BINARY_VJP(MulOp, f.mul(g, b), f.mul(g, a))
CLEAVE_BINARY_VJP(DivOp, f.div(g, b), f.neg(f.mul(g, f.div(y, b))))
CLEAVE_BINARY_VJP(MaxOp, f.wins(Predicate::Gt, a, b, g), f.wins(Predicate::Gt, b, a, g))
CLEAVE_BINARY_VJP(MinOp, f.wins(Predicate::Lt, a, b, g), f.wins(Predicate::Lt, b, a, g))
#undef CLEAVE_BINARY_VJP

// a - trunc(a / b) b: d/da = 1, d/db = -trunc(a / b). (a - result) / b is this whole number, apart from rounding.
namespace {
struct RemGradient : DifferentiableOpInterface::ExternalModel<RemGradient, RemOp> {
  llvm::LogicalResult buildVJP(mlir::Operation *op, OpBuilder &builder, llvm::ArrayRef<Value> resultGrads,
                               Grads &operandGrads) const {
    auto rem = llvm::cast<RemOp>(op);
    if (noGradient(rem.getLhs(), resultGrads))
      return mlir::success();
    Formula f{builder, op->getLoc()};
    Value g = resultGrads[0];
    Value times = RoundOp::create(builder, op->getLoc(), f.div(f.sub(rem.getLhs(), rem.getResult()), rem.getRhs()));
    operandGrads[0] = g;
    operandGrads[1] = f.neg(f.mul(g, times));
    return mlir::success();
  }
};
} // namespace

void cleave::attachElementwiseGradients(mlir::MLIRContext &context) { RemOp::attachInterface<RemGradient>(context); }

// d/da = b a^(b-1), but 0 if b = 0; d/db = a^b log a, but 0 if a = 0 and b >= 0.
mlir::LogicalResult PowOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (noGradient(getLhs(), resultGrads))
    return mlir::success();
  Formula f{builder, getLoc()};
  Value g = resultGrads[0], a = getLhs(), b = getRhs(), zero = f.number(g, 0);
  Value lower = PowOp::create(builder, getLoc(), a, f.sub(b, f.number(b, 1)));
  operandGrads[0] = f.select(f.compare(Predicate::Eq, b, zero), zero, f.mul(g, f.mul(b, lower)));
  Value isZero = AndOp::create(builder, getLoc(), f.compare(Predicate::Eq, a, zero), f.compare(Predicate::Ge, b, zero));
  Value slope = f.mul(getResult(), LogOp::create(builder, getLoc(), a));
  operandGrads[1] = f.select(isZero, zero, f.mul(g, slope));
  return mlir::success();
}

mlir::LogicalResult SelectOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (noGradient(getOnTrue(), resultGrads))
    return mlir::success();
  Formula f{builder, getLoc()};
  Value g = resultGrads[0], zero = f.number(g, 0);
  operandGrads[1] = f.select(getCondition(), g, zero);
  operandGrads[2] = f.select(getCondition(), zero, g);
  return mlir::success();
}

mlir::LogicalResult CastOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads, Grads &operandGrads) {
  if (noGradient(getOperand(), resultGrads) || !llvm::isa<mlir::FloatType>(getResult().getType().getElementType()))
    return mlir::success();
  operandGrads[0] = CastOp::create(builder, getLoc(), getOperand().getType(), resultGrads[0]);
  return mlir::success();
}
