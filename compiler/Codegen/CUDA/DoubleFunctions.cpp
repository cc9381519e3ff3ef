#include "compiler/Codegen/CUDA/DoubleFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace cleave;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// ln 2 in two parts: the product of the first and an integer below 2^11 is exact.
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

// Writes formulas in f64.
class Formula {
public:
  Formula(PatternRewriter &rewriter, Location location) : builder(rewriter), location(location) {}

  Value number(double value) { return arith::ConstantOp::create(builder, location, builder.getF64FloatAttr(value)); }
  Value bits(int64_t value) { return arith::ConstantIntOp::create(builder, location, value, 64); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, location, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, location, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, location, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, location, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, location, a, b, c); }
  Value is(arith::CmpFPredicate predicate, Value a, double b) {
    return arith::CmpFOp::create(builder, location, predicate, a, number(b));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, location, condition, a, b);
  }
  Value toBits(Value value) { return arith::BitcastOp::create(builder, location, builder.getI64Type(), value); }
  Value ofBits(Value value) { return arith::BitcastOp::create(builder, location, builder.getF64Type(), value); }

  Value widened(Value x) {
    return x.getType().isF64() ? x : arith::ExtFOp::create(builder, location, builder.getF64Type(), x).getResult();
  }
  Value narrowed(Value x, Type type) {
    return type.isF64() ? x : arith::TruncFOp::create(builder, location, type, x).getResult();
  }

  Value exp(Value x);
  Value log(Value x) { return logOf(x, logarithm(x)); }
  Value pow(Value x, Value y);
  Value remainder(Value x, Value y); // of numbers that f32 holds
  Value expm1(Value x);
  Value log1p(Value x);
  Value tanh(Value x);
  Value erf(Value x);
  Value sin(Value x) { return wave(x, 0); }
  Value cos(Value x) { return wave(x, 1); }

private:
  // 2^k for |k| < 1023.
  Value powerOfTwo(Value k) {
    Value biased = arith::AddIOp::create(builder, location, k, bits(1023));
    return ofBits(arith::ShLIOp::create(builder, location, biased, bits(52)));
  }
  Value isNaN(Value x) { return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, x, x); }
  Value size(Value x) { return math::AbsFOp::create(builder, location, x); }
  Value withSignOf(Value size, Value x) { return math::CopySignOp::create(builder, location, size, x); }

  // A number as the unrounded sum of two. The second is at most half a unit in the last place of the first.
  struct Sum {
    Value high, low;
  };
  // Knuth, The Art of Computer Programming 2, 4.2.2, theorem B.
  Sum sum(Value a, Value b) {
    Value high = add(a, b), ofB = sub(high, a);
    return {high, add(sub(a, sub(high, ofB)), sub(b, ofB))};
  }
  // The relative error is about 2^-104.
  Sum product(Sum a, Sum b) {
    Value high = mul(a.high, b.high), lost = fma(a.high, b.high, sub(number(0), high));
    return {high, fma(a.high, b.low, fma(a.low, b.high, lost))};
  }
  Sum quotient(Value a, Sum b) {
    Value high = div(a, b.high), minus = sub(number(0), high);
    return {high, div(fma(minus, b.low, fma(minus, b.high, a)), b.high)};
  }
  Sum logarithm(Value x); // `x` must be finite and positive
  Value logOf(Value x, Sum parts);
  // sum of coefficients[i] x^i
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
  // The sine of x plus `quarters` quarters of a period.
  Value wave(Value x, int quarters);
  Value integer(Value x) { return arith::FPToSIOp::create(builder, location, builder.getI64Type(), x); }

  PatternRewriter &builder;
  Location location;
};

} // namespace

// exp(x) = 2^k exp(r), |r| <= ln 2 / 2, by Taylor's polynomial of degree 13.
Value Formula::exp(Value x) {
  Value clamped = arith::MaximumFOp::create(builder, location, x, number(-746));
  clamped = arith::MinimumFOp::create(builder, location, clamped, number(710));
  Value isNaN = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, x, x);
  clamped = select(isNaN, number(0), clamped);
  Value k = math::RoundEvenOp::create(builder, location, mul(clamped, number(1.4426950408889634)));
  Value r = fma(k, number(-kLn2Low), fma(k, number(-kLn2High), clamped));
  double factorial = 6227020800; // 13!
  Value sum = number(1 / factorial);
  for (int degree = 13; degree > 0; --degree) {
    factorial /= degree;
    sum = fma(sum, r, number(1 / factorial));
  }
  // In two steps, because 2^k alone may not be a normal number.
  Value whole = integer(k);
  Value half = arith::ShRSIOp::create(builder, location, whole, bits(1));
  Value rest = arith::SubIOp::create(builder, location, whole, half);
  Value result = mul(mul(sum, powerOfTwo(half)), powerOfTwo(rest));
  return select(isNaN, x, result);
}

// log(x) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)), log(m) = 2 s (1 + s^2/3 + s^4/5 + ...) with s = (m-1)/(m+1). The
// quotient and the first two terms are kept as sums of two numbers. The rest is small enough for one number.
Formula::Sum Formula::logarithm(Value x) {
  Value isSmall = is(arith::CmpFPredicate::OLT, x, 2.2250738585072014e-308);
  Value scaled = select(isSmall, mul(x, number(0x1p54)), x);
  Value word = toBits(scaled);
  // Exponent and fraction relative to sqrt(1/2): adding the difference of the bits of 1 and of sqrt(1/2) carries over.
  Value shifted = arith::AddIOp::create(builder, location, word, bits(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
  Value exponent = arith::SubIOp::create(builder, location,
                                         arith::ShRUIOp::create(builder, location, shifted, bits(52)), bits(1023));
  Value m = ofBits(
      arith::SubIOp::create(builder, location, word, arith::ShLIOp::create(builder, location, exponent, bits(52))));
  Value e = arith::SIToFPOp::create(builder, location, builder.getF64Type(), exponent);
  e = add(e, select(isSmall, number(-54), number(0)));
  Value f = sub(m, number(1)); // exact
  Sum s = quotient(f, sum(m, number(1)));
  Sum square = product(s, s);
  Sum third = product(product(square, s), {number(1.0 / 3), number(0x1.5555555555555p-56)});
  Value series = number(1.0 / 23);
  for (int degree = 21; degree > 3; degree -= 2)
    series = fma(series, square.high, number(1.0 / degree));
  Value rest = mul(mul(mul(square.high, square.high), s.high), series);
  Sum half = sum(s.high, third.high);
  half.low = add(half.low, add(s.low, add(third.low, rest)));
  Sum result = sum(mul(e, number(kLn2High)), mul(number(2), half.high));
  result.low = add(result.low, fma(e, number(kLn2Low), mul(number(2), half.low)));
  return sum(result.high, result.low);
}

// Returns the logarithm of any number. `parts` is the logarithm if the number is finite and positive.
Value Formula::logOf(Value x, Sum parts) {
  Value result = select(is(arith::CmpFPredicate::OEQ, x, kInfinity), x, parts.high);
  result = select(is(arith::CmpFPredicate::OEQ, x, 0), number(-kInfinity), result);
  result = select(is(arith::CmpFPredicate::OLT, x, 0), number(kNaN), result);
  return select(isNaN(x), x, result);
}

// |x|^y = exp(y log |x|). The product is a sum of two numbers, and exp of the second number is 1 plus that number. The
// special cases are those of C (C11, F.10.4.4).
Value Formula::pow(Value x, Value y) {
  Value a = size(x);
  Sum parts = logarithm(a);
  Value exponent = mul(y, logOf(a, parts)), raised = exp(exponent);
  Value corrected = fma(raised, product({y, number(0)}, parts).low, raised);
  // 0 and infinity need no correction, and neither do results from a product of an infinity or a 0.
  Value isFinite = is(arith::CmpFPredicate::OLT, size(exponent), 746);
  isFinite = arith::AndIOp::create(builder, location, isFinite, is(arith::CmpFPredicate::OLT, raised, kInfinity));
  Value result = select(isFinite, corrected, raised);
  result = select(is(arith::CmpFPredicate::OEQ, a, 1), select(isNaN(y), y, number(1)), result);
  Value floor = math::FloorOp::create(builder, location, y), half = mul(y, number(0.5));
  Value isWhole = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, y, floor);
  Value isSplit = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::ONE, half,
                                        math::FloorOp::create(builder, location, half));
  Value isOdd = arith::AndIOp::create(builder, location, isWhole, isSplit);
  result = select(isOdd, withSignOf(result, x), result);
  Value hasNoPower = arith::AndIOp::create(builder, location, is(arith::CmpFPredicate::OLT, x, 0),
                                           is(arith::CmpFPredicate::OGT, x, -kInfinity));
  result = select(hasNoPower, select(isWhole, result, select(isNaN(y), y, number(kNaN))), result);
  result = select(is(arith::CmpFPredicate::OEQ, x, 1), number(1), result);
  return select(is(arith::CmpFPredicate::OEQ, y, 0), number(1), result);
}

// Returns x - trunc(x / y) y, exactly, with the sign of x (C11, 7.12.10.1). |x| = a 2^d and |y| = b 2^e with integers a
// and b below 2^24. If d > e, (a 2^(d-e)) mod b is computed in steps of up to 40 bits, which 64 bits hold; d - e is at
// most 277.
Value Formula::remainder(Value x, Value y) {
  constexpr int kStep = 40, kSteps = 7;
  auto integerOf = [&](Value number) { // an integer of 24 bits (of normal numbers) and its exponent, from 53 bits
    Value word = toBits(number);
    Value exponent = arith::ShRUIOp::create(builder, location, word, bits(52));
    Value fraction = arith::AndIOp::create(builder, location, word, bits((int64_t(1) << 52) - 1));
    Value whole = arith::OrIOp::create(builder, location, fraction, bits(int64_t(1) << 52));
    return std::pair(Value(arith::ShRUIOp::create(builder, location, whole, bits(29))), exponent);
  };
  Value large = size(x), small = size(y);
  Value hasRemainder = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OGE, large, small);
  hasRemainder = arith::AndIOp::create(builder, location, hasRemainder, is(arith::CmpFPredicate::OGT, small, 0));
  hasRemainder = arith::AndIOp::create(builder, location, hasRemainder, is(arith::CmpFPredicate::OLT, large, kInfinity));
  auto [a, d] = integerOf(select(hasRemainder, large, number(1)));
  auto [b, e] = integerOf(select(hasRemainder, small, number(1)));
  Value left = arith::SubIOp::create(builder, location, d, e);
  Value rest = arith::RemUIOp::create(builder, location, a, b);
  for (int step = 0; step < kSteps; ++step) {
    Value shift = arith::MinUIOp::create(builder, location, left, bits(kStep));
    rest = arith::RemUIOp::create(builder, location, arith::ShLIOp::create(builder, location, rest, shift), b);
    left = arith::SubIOp::create(builder, location, left, shift);
  }
  // The result is rest 2^(e - 23), and `rest` has at most 24 bits, so that no step rounds.
  Value scale = powerOfTwo(arith::SubIOp::create(builder, location, e, bits(1023 + 23)));
  Value result = mul(arith::UIToFPOp::create(builder, location, builder.getF64Type(), rest), scale);
  result = select(hasRemainder, result, large); // |x| < |y|, or y is infinite
  Value exists = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::ORD, x, y);
  exists = arith::AndIOp::create(builder, location, exists, is(arith::CmpFPredicate::OLT, large, kInfinity));
  exists = arith::AndIOp::create(builder, location, exists, is(arith::CmpFPredicate::OGT, small, 0));
  return select(exists, withSignOf(result, x), number(kNaN));
}

// Near zero, where exp(x) - 1 cancels, the result is x times Taylor's polynomial of degree 15.
Value Formula::expm1(Value x) {
  llvm::SmallVector<double> coefficients;
  double factorial = 1;
  for (int degree = 1; degree <= 16; ++degree)
    coefficients.push_back(1 / (factorial *= degree));
  Value near = mul(x, polynomial(x, coefficients));
  return select(is(arith::CmpFPredicate::OLT, size(x), 0.5), near, sub(exp(x), number(1)));
}

// Adds to log(u), u = 1 + x rounded, the part that the rounding removed, divided by u.
Value Formula::log1p(Value x) {
  Value u = add(x, number(1));
  Value lost = sub(x, sub(u, number(1)));
  Value whole = log(u), result = add(whole, div(lost, u));
  result = select(is(arith::CmpFPredicate::OGT, u, 0), result, whole);
  result = select(is(arith::CmpFPredicate::OEQ, u, kInfinity), whole, result);
  return select(is(arith::CmpFPredicate::OEQ, u, 1), x, result);
}

// t / (t + 2) with t = exp(2|x|) - 1. From 22 on the quotient rounds to 1.
Value Formula::tanh(Value x) {
  Value clamped = arith::MinNumFOp::create(builder, location, size(x), number(22));
  Value t = expm1(add(clamped, clamped));
  return select(isNaN(x), x, withSignOf(div(t, add(t, number(2))), x));
}

// Below 2.5 the series 2/sqrt(pi) exp(-x^2) (x + 2 x^3/3 + 4 x^5/15 + ...), whose terms all have one sign. Above, 1
// minus the continued fraction exp(-x^2)/sqrt(pi) / (x + (1/2)/(x + (2/2)/(x + ...))). Both are long: f64 is used for
// comparisons, and need not be fast.
Value Formula::erf(Value x) {
  constexpr double kSqrtPi = 1.7724538509055160273;
  Value a = arith::MinNumFOp::create(builder, location, size(x), number(6));
  Value square = mul(a, a), twice = add(square, square), decay = exp(sub(number(0), square));
  Value series = number(1);
  for (int n = 40; n > 0; --n)
    series = fma(mul(series, twice), number(1.0 / (2 * n + 1)), number(1));
  Value near = mul(mul(number(2 / kSqrtPi), decay), mul(a, series));
  Value fraction = a;
  for (int n = 30; n > 0; --n)
    fraction = add(a, div(number(n / 2.0), fraction));
  Value far = sub(number(1), div(mul(decay, number(1 / kSqrtPi)), fraction));
  Value result = select(is(arith::CmpFPredicate::OLT, a, 2.5), near, far);
  return select(isNaN(x), x, withSignOf(result, x));
}

// x = k pi/2 + r with |r| <= pi/4. pi/2 is in three parts, whose products with k an fma does not round. For
// arguments from 2^48 on, f64 does not hold k to a quarter. Then the result is NaN, and not a number between -1 and 1.
Value Formula::wave(Value x, int quarters) {
  Value k = math::RoundEvenOp::create(builder, location, mul(x, number(6.36619772367581382433e-01)));
  Value minus = sub(number(0), k);
  Value r = fma(minus, number(1.57079632679489655800e+00), x);
  r = fma(minus, number(6.12323399573676603587e-17), r);
  r = fma(minus, number(-1.49738490485916983e-33), r);
  r = select(is(arith::CmpFPredicate::OEQ, x, 0), x, r); // keeps the sign of 0
  Value square = mul(r, r);
  llvm::SmallVector<double> odd{1}, even{1};
  for (int degree = 2; degree <= 18; degree += 2) {
    even.push_back(-even.back() / ((degree - 1) * degree));
    odd.push_back(-odd.back() / (degree * (degree + 1)));
  }
  Value sine = mul(r, polynomial(square, odd)), cosine = polynomial(square, even);
  Value inRange = is(arith::CmpFPredicate::OLT, size(x), 0x1p48);
  Value quarter = arith::AddIOp::create(builder, location, integer(select(inRange, k, number(0))), bits(quarters));
  auto bit = [&](int64_t mask) {
    Value masked = arith::AndIOp::create(builder, location, quarter, bits(mask));
    return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ne, masked, bits(0));
  };
  Value result = select(bit(1), cosine, sine);
  result = select(bit(2), sub(number(0), result), result);
  return select(inRange, result, number(kNaN));
}

namespace {

// A function of one operand.
template <typename Op, Value (Formula::*formula)(Value)> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    Formula writer(rewriter, op.getLoc());
    rewriter.replaceOp(op, (writer.*formula)(op.getOperand()));
    return success();
  }
};

// pow of any floating-point type: narrower numbers are widened, and the result is rounded once more.
struct ExpandPow : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    Formula writer(rewriter, op.getLoc());
    Value power = writer.pow(writer.widened(op.getLhs()), writer.widened(op.getRhs()));
    rewriter.replaceOp(op, writer.narrowed(power, op.getType()));
    return success();
  }
};

// Remainders of f32 and narrower types. f64 holds them with all their exponents.
struct ExpandRemainder : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &rewriter) const override {
    if (op.getType().getIntOrFloatBitWidth() > 32)
      return rewriter.notifyMatchFailure(op, "f64");
    Formula writer(rewriter, op.getLoc());
    Value rest = writer.remainder(writer.widened(op.getLhs()), writer.widened(op.getRhs()));
    rewriter.replaceOp(op, writer.narrowed(rest, op.getType()));
    return success();
  }
};

} // namespace

void cleave::populateDoubleFunctions(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, &Formula::exp>, Expand<math::ExpM1Op, &Formula::expm1>,
               Expand<math::LogOp, &Formula::log>, Expand<math::Log1pOp, &Formula::log1p>,
               Expand<math::TanhOp, &Formula::tanh>, Expand<math::ErfOp, &Formula::erf>,
               Expand<math::SinOp, &Formula::sin>, Expand<math::CosOp, &Formula::cos>, ExpandPow,
               ExpandRemainder>(patterns.getContext());
}
