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
// ln 2 in two parts: a multiple of the first by an integer below 2^11 is exact.
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

  Value exp(Value x);
  Value log(Value x);
  Value pow(Value x, Value y);

private:
  // 2^k for |k| < 1023.
  Value powerOfTwo(Value k) {
    Value biased = arith::AddIOp::create(builder, location, k, bits(1023));
    return ofBits(arith::ShLIOp::create(builder, location, biased, bits(52)));
  }
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
  // In two steps: 2^k alone may be no normal number.
  Value whole = integer(k);
  Value half = arith::ShRSIOp::create(builder, location, whole, bits(1));
  Value rest = arith::SubIOp::create(builder, location, whole, half);
  Value result = mul(mul(sum, powerOfTwo(half)), powerOfTwo(rest));
  return select(isNaN, x, result);
}

// log(x) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)), log(m) = 2 s (1 + s^2/3 + s^4/5 + ...) with s = (m-1)/(m+1).
Value Formula::log(Value x) {
  Value isSmall = is(arith::CmpFPredicate::OLT, x, 2.2250738585072014e-308);
  Value scaled = select(isSmall, mul(x, number(0x1p54)), x);
  Value word = toBits(scaled);
  // Exponent and fraction about sqrt(1/2): adding the difference of the bits of 1 and of sqrt(1/2) carries over.
  Value shifted = arith::AddIOp::create(builder, location, word, bits(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
  Value exponent = arith::SubIOp::create(builder, location,
                                         arith::ShRUIOp::create(builder, location, shifted, bits(52)), bits(1023));
  Value m = ofBits(
      arith::SubIOp::create(builder, location, word, arith::ShLIOp::create(builder, location, exponent, bits(52))));
  Value e = arith::SIToFPOp::create(builder, location, builder.getF64Type(), exponent);
  e = add(e, select(isSmall, number(-54), number(0)));
  Value f = sub(m, number(1));
  Value s = div(f, add(m, number(1))), square = mul(s, s);
  Value sum = number(1.0 / 23);
  for (int degree = 21; degree > 1; degree -= 2)
    sum = fma(sum, square, number(1.0 / degree));
  // log(m) = 2 s + 2 s^3 (...); 2 s = f - f s.
  Value tail = mul(mul(mul(number(2), s), square), sum);
  Value result = add(mul(e, number(kLn2High)), add(f, fma(e, number(kLn2Low), sub(tail, mul(f, s)))));
  result = select(is(arith::CmpFPredicate::OEQ, x, kInfinity), x, result);
  result = select(is(arith::CmpFPredicate::OEQ, x, 0), number(-kInfinity), result);
  result = select(is(arith::CmpFPredicate::OLT, x, 0), number(kNaN), result);
  return select(arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, x, x), x, result);
}

// exp(y log |x|), with the sign of an odd power of a negative number; no number for another power of one.
Value Formula::pow(Value x, Value y) {
  Value size = math::AbsFOp::create(builder, location, x);
  Value result = exp(mul(y, log(size)));
  Value floor = math::FloorOp::create(builder, location, y);
  Value isWhole = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, y, floor);
  Value half = mul(y, number(0.5));
  Value isEven = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, half,
                                       math::FloorOp::create(builder, location, half));
  Value isNegative = is(arith::CmpFPredicate::OLT, x, 0);
  Value minus = arith::NegFOp::create(builder, location, result);
  Value ofNegative = select(isWhole, select(isEven, result, minus), number(kNaN));
  result = select(isNegative, ofNegative, result);
  result = select(is(arith::CmpFPredicate::OEQ, x, 1), number(1), result);
  return select(is(arith::CmpFPredicate::OEQ, y, 0), number(1), result);
}

namespace {

struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    rewriter.replaceOp(op, Formula(rewriter, op.getLoc()).exp(op.getOperand()));
    return success();
  }
};

struct ExpandLog : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::LogOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    rewriter.replaceOp(op, Formula(rewriter, op.getLoc()).log(op.getOperand()));
    return success();
  }
};

struct ExpandPow : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    rewriter.replaceOp(op, Formula(rewriter, op.getLoc()).pow(op.getLhs(), op.getRhs()));
    return success();
  }
};

} // namespace

void cleave::populateDoubleFunctions(RewritePatternSet &patterns) {
  patterns.add<ExpandExp, ExpandLog, ExpandPow>(patterns.getContext());
}
