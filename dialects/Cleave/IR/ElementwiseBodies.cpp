// The computation of one element of every elementwise op, in arith and math. f16 and bf16 are computed in f32 and
// rounded once (round inputs, compute in fp32, round the output).
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace cleave;
using mlir::Location;
using mlir::OpBuilder;
using mlir::Value;
using mlir::ValueRange;
namespace arith = mlir::arith;
namespace math = mlir::math;

static bool isFloat(Value value) { return llvm::isa<mlir::FloatType>(value.getType()); }
static bool isUnsigned(Value tensor) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
  return element.isUnsignedInteger() || element.isInteger(1);
}

static Value constant(OpBuilder &b, Location loc, mlir::Type type, double value) {
  if (llvm::isa<mlir::FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

static Value widen(OpBuilder &b, Location loc, Value x) {
  return isFloat(x) && x.getType().getIntOrFloatBitWidth() < 32 ? arith::ExtFOp::create(b, loc, b.getF32Type(), x) : x;
}

static Value narrow(OpBuilder &b, Location loc, Value x, mlir::Type type) {
  return x.getType() == type ? x : arith::TruncFOp::create(b, loc, type, x).getResult();
}

template <typename MathOp> static Value unary(OpBuilder &b, Location loc, ValueRange x) {
  return narrow(b, loc, MathOp::create(b, loc, widen(b, loc, x[0])), x[0].getType());
}

template <typename FloatOp, typename IntOp> static Value binary(OpBuilder &b, Location loc, ValueRange x) {
  if (!isFloat(x[0]))
    return IntOp::create(b, loc, x[0], x[1]);
  return narrow(b, loc, FloatOp::create(b, loc, widen(b, loc, x[0]), widen(b, loc, x[1])), x[0].getType());
}

static Value compareFloat(OpBuilder &b, Location loc, arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, loc, predicate, x, y);
}
static Value compareInt(OpBuilder &b, Location loc, arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}
static Value choose(OpBuilder &b, Location loc, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, loc, condition, yes, no);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

#define CLEAVE_MATH(OP, MATH)                                                                                          \
  Value OP::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return unary<MATH>(b, loc, x); }
CLEAVE_MATH(ExpOp, math::ExpOp)
CLEAVE_MATH(Expm1Op, math::ExpM1Op)
CLEAVE_MATH(SqrtOp, math::SqrtOp)
CLEAVE_MATH(SinOp, math::SinOp)
CLEAVE_MATH(CosOp, math::CosOp)
CLEAVE_MATH(TanhOp, math::TanhOp)
CLEAVE_MATH(ErfOp, math::ErfOp)
CLEAVE_MATH(FloorOp, math::FloorOp)
CLEAVE_MATH(CeilOp, math::CeilOp)
CLEAVE_MATH(RoundOp, math::RoundEvenOp)
#undef CLEAVE_MATH

// Targets approximate the logarithm of f32 only for normal numbers, so smaller ones are multiplied by 2^24 first.
Value LogOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value wide = widen(b, loc, x[0]);
  if (!wide.getType().isF32())
    return math::LogOp::create(b, loc, wide);
  auto number = [&](double value) { return constant(b, loc, wide.getType(), value); };
  Value small = compareFloat(b, loc, arith::CmpFPredicate::OLT, wide, number(0x1p-126));
  Value scaled = choose(b, loc, small, arith::MulFOp::create(b, loc, wide, number(0x1p24)), wide);
  Value shift = choose(b, loc, small, number(-24 * M_LN2), number(0));
  return narrow(b, loc, arith::AddFOp::create(b, loc, math::LogOp::create(b, loc, scaled), shift), x[0].getType());
}

// log(u) for u = 1 + x, plus the part that was rounded off in u, as the first term of the logarithm's series around u.
// At the ends, u = 0 and u = inf, there is no such part.
Value Log1pOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value wide = widen(b, loc, x[0]);
  if (!wide.getType().isF32())
    return math::Log1pOp::create(b, loc, wide);
  auto number = [&](double value) { return constant(b, loc, wide.getType(), value); };
  Value total = arith::AddFOp::create(b, loc, wide, number(1));
  Value lost = arith::SubFOp::create(b, loc, wide, arith::SubFOp::create(b, loc, total, number(1)));
  Value correction = arith::DivFOp::create(b, loc, lost, total);
  Value atZero = compareFloat(b, loc, arith::CmpFPredicate::OEQ, total, number(0));
  Value atInfinity = compareFloat(b, loc, arith::CmpFPredicate::OEQ, total, number(INFINITY));
  correction = choose(b, loc, arith::OrIOp::create(b, loc, atZero, atInfinity), number(0), correction);
  Value result = arith::AddFOp::create(b, loc, math::LogOp::create(b, loc, total), correction);
  // -0 stays -0.
  result = choose(b, loc, compareFloat(b, loc, arith::CmpFPredicate::OEQ, wide, number(0)), wide, result);
  return narrow(b, loc, result, x[0].getType());
}

Value NegOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  if (isFloat(x[0]))
    return arith::NegFOp::create(b, loc, x[0]);
  return arith::SubIOp::create(b, loc, constant(b, loc, x[0].getType(), 0), x[0]);
}

Value AbsOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  if (isFloat(x[0]))
    return math::AbsFOp::create(b, loc, x[0]);
  return isUnsigned(getOperand()) ? x[0] : math::AbsIOp::create(b, loc, x[0]).getResult();
}

Value SignOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  mlir::Type type = x[0].getType();
  Value zero = constant(b, loc, type, 0), one = constant(b, loc, type, 1), minus = constant(b, loc, type, -1);
  if (isFloat(x[0])) {
    Value above = compareFloat(b, loc, arith::CmpFPredicate::OGT, x[0], zero);
    Value below = compareFloat(b, loc, arith::CmpFPredicate::OLT, x[0], zero);
    Value isNan = compareFloat(b, loc, arith::CmpFPredicate::UNO, x[0], x[0]);
    return choose(b, loc, above, one, choose(b, loc, below, minus, choose(b, loc, isNan, x[0], zero)));
  }
  if (isUnsigned(getOperand()))
    return choose(b, loc, compareInt(b, loc, arith::CmpIPredicate::ne, x[0], zero), one, zero);
  Value above = compareInt(b, loc, arith::CmpIPredicate::sgt, x[0], zero);
  Value below = compareInt(b, loc, arith::CmpIPredicate::slt, x[0], zero);
  return choose(b, loc, above, one, choose(b, loc, below, minus, zero));
}

// Not math.rsqrt, because targets approximate it.
Value RsqrtOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value wide = widen(b, loc, x[0]);
  Value root = math::SqrtOp::create(b, loc, wide);
  return narrow(b, loc, arith::DivFOp::create(b, loc, constant(b, loc, wide.getType(), 1), root), x[0].getType());
}

// Below 0 it is e^x / (1 + e^x), because e^-x would overflow before the result vanishes.
Value SigmoidOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value wide = widen(b, loc, x[0]);
  Value zero = constant(b, loc, wide.getType(), 0), one = constant(b, loc, wide.getType(), 1);
  Value power = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, wide)));
  Value isNegative = compareFloat(b, loc, arith::CmpFPredicate::OLT, wide, zero);
  Value quotient =
      arith::DivFOp::create(b, loc, choose(b, loc, isNegative, power, one), arith::AddFOp::create(b, loc, one, power));
  return narrow(b, loc, quotient, x[0].getType());
}

// x <= 0 ? 0 : x, which keeps NaN.
Value ReluOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value zero = constant(b, loc, x[0].getType(), 0);
  return choose(b, loc, compareFloat(b, loc, arith::CmpFPredicate::OLE, x[0], zero), zero, x[0]);
}

Value NotOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return arith::XOrIOp::create(b, loc, x[0], constant(b, loc, x[0].getType(), 1));
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

Value AddOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return binary<arith::AddFOp, arith::AddIOp>(b, loc, x);
}
Value SubOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return binary<arith::SubFOp, arith::SubIOp>(b, loc, x);
}
Value MulOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return binary<arith::MulFOp, arith::MulIOp>(b, loc, x);
}
Value MaxOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return isUnsigned(getLhs()) ? binary<arith::MaximumFOp, arith::MaxUIOp>(b, loc, x)
                              : binary<arith::MaximumFOp, arith::MaxSIOp>(b, loc, x);
}
Value MinOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  return isUnsigned(getLhs()) ? binary<arith::MinimumFOp, arith::MinUIOp>(b, loc, x)
                              : binary<arith::MinimumFOp, arith::MinSIOp>(b, loc, x);
}
Value AndOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return arith::AndIOp::create(b, loc, x[0], x[1]); }
Value OrOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return arith::OrIOp::create(b, loc, x[0], x[1]); }
Value XorOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return arith::XOrIOp::create(b, loc, x[0], x[1]); }

Value PowOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  Value power = math::PowFOp::create(b, loc, widen(b, loc, x[0]), widen(b, loc, x[1]));
  return narrow(b, loc, power, x[0].getType());
}

// Hardware traps on x / 0 and on min / -1. Such lanes divide by one, and the answer is chosen afterwards.
Value DivOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  if (isFloat(x[0]))
    return binary<arith::DivFOp, arith::DivSIOp>(b, loc, x);
  Value zero = constant(b, loc, x[0].getType(), 0), one = constant(b, loc, x[0].getType(), 1);
  Value byZero = compareInt(b, loc, arith::CmpIPredicate::eq, x[1], zero);
  Value divisor = choose(b, loc, byZero, one, x[1]);
  if (isUnsigned(getLhs()))
    return choose(b, loc, byZero, zero, arith::DivUIOp::create(b, loc, x[0], divisor));
  Value minusOne = constant(b, loc, x[0].getType(), -1);
  Value byMinusOne = compareInt(b, loc, arith::CmpIPredicate::eq, x[1], minusOne);
  Value quotient = arith::DivSIOp::create(b, loc, x[0], choose(b, loc, byMinusOne, one, divisor));
  Value negated = arith::SubIOp::create(b, loc, zero, x[0]);
  return choose(b, loc, byZero, zero, choose(b, loc, byMinusOne, negated, quotient));
}

// The remainders by 0 and by -1 are computed as that by 1, which is zero.
Value RemOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  if (isFloat(x[0]))
    return binary<arith::RemFOp, arith::RemSIOp>(b, loc, x);
  Value one = constant(b, loc, x[0].getType(), 1);
  Value byZero = compareInt(b, loc, arith::CmpIPredicate::eq, x[1], constant(b, loc, x[0].getType(), 0));
  Value divisor = choose(b, loc, byZero, one, x[1]);
  if (isUnsigned(getLhs()))
    return arith::RemUIOp::create(b, loc, x[0], divisor);
  Value byMinusOne = compareInt(b, loc, arith::CmpIPredicate::eq, x[1], constant(b, loc, x[0].getType(), -1));
  return arith::RemSIOp::create(b, loc, x[0], choose(b, loc, byMinusOne, one, divisor));
}

static arith::CmpFPredicate floatPredicate(Predicate predicate) {
  static constexpr arith::CmpFPredicate table[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
                                                   arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                   arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
  return table[static_cast<unsigned>(predicate)];
}

static arith::CmpIPredicate intPredicate(Predicate predicate, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  static constexpr P table[][2] = {{P::eq, P::eq},   {P::ne, P::ne},   {P::slt, P::ult},
                                   {P::sle, P::ule}, {P::sgt, P::ugt}, {P::sge, P::uge}};
  return table[static_cast<unsigned>(predicate)][isUnsigned];
}

Value CompareOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) {
  if (isFloat(x[0]))
    return compareFloat(b, loc, floatPredicate(getPredicate()), x[0], x[1]);
  return compareInt(b, loc, intPredicate(getPredicate(), isUnsigned(getLhs())), x[0], x[1]);
}

Value SelectOp::buildScalar(OpBuilder &b, Location loc, ValueRange x) { return choose(b, loc, x[0], x[1], x[2]); }

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

// Truncates and saturates; NaN becomes 0. The conversion of an element out of range is poison, and is never chosen.
static Value floatToInt(OpBuilder &b, Location loc, Value x, mlir::IntegerType type, bool isUnsigned) {
  unsigned width = type.getWidth();
  llvm::APInt low = isUnsigned ? llvm::APInt::getZero(width) : llvm::APInt::getSignedMinValue(width);
  llvm::APInt high = isUnsigned ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width);
  Value lowest = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, low));
  Value highest = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, high));
  double below = isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1),
         above = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Value converted = isUnsigned ? arith::FPToUIOp::create(b, loc, type, x).getResult()
                               : arith::FPToSIOp::create(b, loc, type, x).getResult();
  Value tooLow = compareFloat(b, loc, arith::CmpFPredicate::OLT, x, constant(b, loc, x.getType(), below));
  Value tooHigh = compareFloat(b, loc, arith::CmpFPredicate::OGE, x, constant(b, loc, x.getType(), above));
  Value inRange = choose(b, loc, tooLow, lowest, choose(b, loc, tooHigh, highest, converted));
  Value isNan = compareFloat(b, loc, arith::CmpFPredicate::UNO, x, x);
  return choose(b, loc, isNan, constant(b, loc, type, 0), inRange);
}

static Value intToFloat(OpBuilder &b, Location loc, Value x, mlir::Type type, bool isUnsigned) {
  mlir::Type wide = type.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : type;
  Value converted = isUnsigned ? arith::UIToFPOp::create(b, loc, wide, x).getResult()
                               : arith::SIToFPOp::create(b, loc, wide, x).getResult();
  return narrow(b, loc, converted, type);
}

static Value intToInt(OpBuilder &b, Location loc, Value x, mlir::Type type, bool isUnsigned) {
  unsigned from = x.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (from == to)
    return x;
  if (from > to)
    return arith::TruncIOp::create(b, loc, type, x);
  return isUnsigned ? arith::ExtUIOp::create(b, loc, type, x).getResult()
                    : arith::ExtSIOp::create(b, loc, type, x).getResult();
}

// Casts f64 to f32, rounded to odd: a number that f32 does not hold becomes the neighbour towards zero or, if that is
// even, the other one. If it is rounded once more, to a type with at least two bits less, the result is that of a
// single rounding (S. Boldo, G. Melquiond: Emulation of FMA and Correctly Rounded Sums. IEEE Transactions on Computers
// 57 (2008)). Processors have no rounding of f64 to 16 bits, and the library functions for it are not linked.
static Value roundToOdd(OpBuilder &b, Location loc, Value x) {
  auto integer = [&](int32_t value) -> Value { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); };
  Value rounded = arith::TruncFOp::create(b, loc, b.getF32Type(), x);
  Value back = arith::ExtFOp::create(b, loc, b.getF64Type(), rounded);
  Value isInexact = compareFloat(b, loc, arith::CmpFPredicate::UNE, back, x);
  Value isAway = compareFloat(b, loc, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, back),
                              math::AbsFOp::create(b, loc, x));
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), rounded);
  Value towardsZero = arith::SelectOp::create(b, loc, isAway, arith::SubIOp::create(b, loc, bits, integer(1)), bits);
  Value odd = arith::OrIOp::create(b, loc, towardsZero, integer(1));
  return arith::BitcastOp::create(b, loc, b.getF32Type(), arith::SelectOp::create(b, loc, isInexact, odd, bits));
}

static Value floatToFloat(OpBuilder &b, Location loc, Value x, mlir::Type type) {
  Value wide = widen(b, loc, x); // f16 and bf16 are converted through f32
  if (wide.getType().isF64() && type.getIntOrFloatBitWidth() == 16)
    wide = roundToOdd(b, loc, wide);
  unsigned from = wide.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (wide.getType() == type)
    return wide;
  return from < to ? arith::ExtFOp::create(b, loc, type, wide).getResult()
                   : arith::TruncFOp::create(b, loc, type, wide).getResult();
}

Value CastOp::buildScalar(OpBuilder &b, Location loc, ValueRange elements) {
  Value x = elements[0];
  mlir::Type target = getResult().getType().getElementType();
  if (getOperand().getType() == getResult().getType())
    return x;
  if (target.isInteger(1)) {
    Value zero = constant(b, loc, x.getType(), 0);
    return isFloat(x) ? compareFloat(b, loc, arith::CmpFPredicate::UNE, x, zero)
                      : compareInt(b, loc, arith::CmpIPredicate::ne, x, zero);
  }
  bool fromUnsigned = isUnsigned(getOperand());
  auto integer = llvm::dyn_cast<mlir::IntegerType>(target);
  if (!integer)
    return isFloat(x) ? floatToFloat(b, loc, x, target) : intToFloat(b, loc, x, target, fromUnsigned);
  auto signless = b.getIntegerType(integer.getWidth());
  if (isFloat(x))
    return floatToInt(b, loc, widen(b, loc, x), signless, isUnsigned(getResult()));
  return intToInt(b, loc, x, signless, fromUnsigned);
}
