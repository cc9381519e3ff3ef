#include "compiler/Codegen/Loops/MathExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cleave;

namespace {

// Scalar arithmetic that reads like the formula. A number gets the type of the other operand.
struct Formula {
  PatternRewriter &b;
  Location loc;

  Value number(Type type, double value) { return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value)); }
  Value bits(int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value add(Value x, double y) { return add(x, number(x.getType(), y)); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value mul(Value x, double y) { return mul(x, number(x.getType(), y)); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value fma(Value x, double y, Value z) { return fma(x, number(x.getType(), y), z); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value round(Value x) { return math::RoundEvenOp::create(b, loc, x); }
  Value toBits(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  Value toFloat(Value x) { return arith::BitcastOp::create(b, loc, b.getF32Type(), x); }
  Value select(Value condition, Value yes, Value no) { return arith::SelectOp::create(b, loc, condition, yes, no); }
  Value less(Value x, double y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, number(x.getType(), y));
  }
  // Returns x limited to [low, high]. NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, number(x.getType(), high));
    x = select(above, number(x.getType(), high), x);
    return select(less(x, low), number(x.getType(), low), x);
  }
  // Returns c[0] x^k + c[1] x^(k-1) + ... + c[k].
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(x.getType(), coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(x.getType(), coefficient));
    return sum;
  }
};

//===----------------------------------------------------------------------===//
// exp, expm1
//===----------------------------------------------------------------------===//

// x = n ln(2) + r, and e^r - 1. `n` is an integer in bits: a number of the size of 1.5 * 2^23 has it in its low bits,
// so that no NaN is converted to an integer.
struct Reduced {
  Value n, expm1;
};

Reduced reduceExponent(Formula &f, Value x) {
  constexpr double kShift = 0x1.8p23;
  Value shifted = f.fma(x, 1.44269504088896341, f.number(x.getType(), kShift));
  Value n = arith::SubIOp::create(f.b, f.loc, f.toBits(shifted), f.toBits(f.number(x.getType(), kShift)));
  Value turns = f.add(shifted, -kShift);
  Value r = f.fma(turns, -0.693145751953125, x); // ln(2) in two parts, the first of few digits
  r = f.fma(turns, -1.428606765330187e-06, r);
  // (e^r - 1 - r) / r^2, coefficients of Cephes' expf (Moshier).
  Value p = f.polynomial(
      r, {1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2, 1.6666665459E-1, 5.0000001201E-1});
  return {n, f.fma(f.mul(r, r), p, r)};
}

// Returns 2^n for n in [-126, 127].
Value power(Formula &f, Value n) {
  Value exponent = arith::AddIOp::create(f.b, f.loc, n, f.bits(127));
  return f.toFloat(arith::ShLIOp::create(f.b, f.loc, exponent, f.bits(23)));
}

// Below -104 the result is 0, and above 89 it is infinity.
Value expandExp(Formula f, Value x) {
  Reduced reduced = reduceExponent(f, f.clamp(x, -104, 89));
  Value half = arith::ShRSIOp::create(f.b, f.loc, reduced.n, f.bits(1));
  Value rest = arith::SubIOp::create(f.b, f.loc, reduced.n, half);
  return f.mul(f.mul(f.add(reduced.expm1, 1), power(f, half)), power(f, rest));
}

// 2^n e^r - 1 = 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)). Below -20 it is -1, and for the smallest x it is x.
Value expandExpm1(Formula f, Value x) {
  Reduced reduced = reduceExponent(f, f.clamp(x, -20, 89));
  Value scale = power(f, arith::AddIOp::create(f.b, f.loc, reduced.n, f.bits(-1)));
  Value result = f.mul(f.fma(scale, reduced.expm1, f.add(scale, -0.5)), 2);
  return f.select(f.less(f.abs(x), 0x1p-25), x, result);
}

//===----------------------------------------------------------------------===//
// tanh, erf
//===----------------------------------------------------------------------===//

// Returns e^x for -40 <= x <= 0, where one factor 2^n is enough.
Value expOfNegative(Formula &f, Value x) {
  Reduced reduced = reduceExponent(f, x);
  return f.mul(f.add(reduced.expm1, 1), power(f, reduced.n));
}

// An odd function: below `limit` one formula of |x|, from there on another one.
Value oddFunction(Formula &f, Value x, Value size, double limit, Value near, Value far) {
  return math::CopySignOp::create(f.b, f.loc, f.select(f.less(size, limit), near, far), x);
}

// From 0.625 on 1 - 2t / (1 + t) with t = e^(-2|x|), where the error of t is small against 1; below, an odd polynomial
// with the coefficients of Cephes' tanhf (Moshier). From 10 on, the result is 1 in f32.
Value expandTanh(Formula f, Value x) {
  Value size = f.abs(x);
  Value t = expOfNegative(f, f.mul(f.clamp(size, 0, 10), -2));
  Value far = f.add(f.div(f.mul(t, -2), f.add(t, 1)), 1);
  Value square = f.mul(size, size);
  Value series = f.polynomial(
      square, {-5.70498872745E-3, 2.06390887954E-2, -5.37397155531E-2, 1.33314422036E-1, -3.33332819422E-1});
  return oddFunction(f, x, size, 0.625, f.fma(f.mul(size, square), series, size), far);
}

// From 1 on 1 - erfc(|x|), where ln(erfc) is a polynomial; below, an odd polynomial. From 4 on, the result is 1 in f32.
// Both are fitted by weighted least squares so that the largest relative error of the result is smallest: 2^-26, 2^-29.
Value expandErf(Formula f, Value x) {
  Value size = f.abs(x);
  Value logarithm = f.polynomial(
      f.clamp(size, 0, 4), {-1.1572221e-03, 1.4831855e-02, -8.8799755e-02, -6.5424001e-01, -1.1176213, -2.6191608e-03});
  Value far = f.sub(f.number(x.getType(), 1), expOfNegative(f, logarithm));
  Value series = f.polynomial(f.mul(size, size), {7.8538776e-05, -8.0101991e-04, 5.1883284e-03, -2.6853812e-02,
                                                  1.1283585e-01, -3.7612626e-01, 1.2837917e-01});
  return oddFunction(f, x, size, 1, f.fma(size, series, size), far);
}

//===----------------------------------------------------------------------===//
// sin, cos
//===----------------------------------------------------------------------===//

// 1 / (2 pi) in parts: three of 29 bits, whose products with the 24 bits of an f32 number are exact, and one of 53
// bits; and 2^63 / (2 pi) without its whole turns, times 2^-63. A number from 2^86 on is a multiple of 2^63, so whole
// turns may be left out. Products with the last part are below half a turn.
constexpr double kTurn[4] = {0x1.45f306dp-3, 0x1.9391054p-32, 0x1.4fe13abp-61, 0x1.d1f534ddc0db6p-90};
constexpr double kFarTurn[4] = {0x1.fc2757dp-66, 0x1.f534ddcp-98, 0x1.b6c52b3p-131, 0x1.3c439041fe516p-162};

// Returns x / (2 pi) + shift in turns, without whole turns; x must not be negative. Each part's whole turns are
// subtracted, exactly, before parts are added. So the rest has the relative error of f64, however near it is to 0.
Value countTurns(Formula &f, Value x, double shift) {
  Value wide = arith::ExtFOp::create(f.b, f.loc, f.b.getF64Type(), x);
  Value isNear = f.less(wide, 0x1p86);
  auto fraction = [&](Value turns) { return f.sub(turns, f.round(turns)); };
  Value sum;
  for (size_t i = 0; i < std::size(kTurn); ++i) {
    Value factor = f.select(isNear, f.number(wide.getType(), kTurn[i]), f.number(wide.getType(), kFarTurn[i]));
    Value part = f.mul(wide, factor);
    if (i + 1 < std::size(kTurn))
      part = fraction(part);
    if (!sum && shift != 0)
      part = fraction(f.add(part, shift));
    sum = sum ? f.add(sum, part) : part;
  }
  return fraction(sum);
}

// Returns sin(2 pi t) for |t| <= 1/2. The sine of 1/2 - t is the same, so the angle within a quarter of a turn is used.
// It is rounded to f32 once. The series is in f32, because vectors hold twice as many f32 numbers.
Value sineOfTurns(Formula &f, Value t) {
  Value turns = f.abs(t), rest = f.sub(f.number(t.getType(), 0.5), turns);
  Value smaller = f.select(arith::CmpFOp::create(f.b, f.loc, arith::CmpFPredicate::OLT, turns, rest), turns, rest);
  Value wide = math::CopySignOp::create(f.b, f.loc, f.mul(smaller, 6.283185307179586), t);
  Value angle = arith::TruncFOp::create(f.b, f.loc, f.b.getF32Type(), wide);
  Value square = f.mul(angle, angle);
  // (sin(a) - a) / a^3 over a^2, to 2^-27 of the sine at its worst for |a| <= pi / 2.
  Value series = f.polynomial(
      square, {2.6057735925759367e-06, -1.9809600129717247e-04, 8.3330662142031970e-03, -1.6666659549427099e-01});
  return f.clamp(f.fma(f.mul(angle, square), series, angle), -1, 1);
}

// Computes the sine of |x|, and changes its sign if x has the sign -, as -0 has.
Value expandSin(Formula f, Value x) {
  Value sine = sineOfTurns(f, countTurns(f, f.abs(x), 0));
  Value sign = arith::AndIOp::create(f.b, f.loc, f.toBits(x), f.bits(INT32_MIN));
  return f.toFloat(arith::XOrIOp::create(f.b, f.loc, f.toBits(sine), sign));
}

Value expandCos(Formula f, Value x) { return sineOfTurns(f, countTurns(f, f.abs(x), 0.25)); }

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

template <typename Op, Value (*expand)(Formula, Value)> struct Expand : OpRewritePattern<Op> {
  explicit Expand(MLIRContext *context) : OpRewritePattern<Op>(context, /*benefit=*/10) {}
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "only f32 is expanded");
    rewriter.replaceOp(op, expand(Formula{rewriter, op.getLoc()}, op.getOperand()));
    return success();
  }
};

// Calls `double name(double)` of the C library.
template <typename Op> struct CallLibrary : OpRewritePattern<Op> {
  CallLibrary(MLIRContext *context, StringRef name) : OpRewritePattern<Op>(context, /*benefit=*/10), name(name) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "only f64 is called");
    func::FuncOp function = declare(op->template getParentOfType<ModuleOp>(), op, rewriter);
    rewriter.replaceOpWithNewOp<func::CallOp>(op, function, op.getOperand());
    return success();
  }

  func::FuncOp declare(ModuleOp module, Op op, PatternRewriter &rewriter) const {
    if (auto known = module.lookupSymbol<func::FuncOp>(name))
      return known;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    auto type = rewriter.getFunctionType(op.getType(), op.getType());
    auto function = func::FuncOp::create(rewriter, module.getLoc(), name, type);
    function.setPrivate();
    function->setAttr(LLVM::LLVMDialect::getReadnoneAttrName(), rewriter.getUnitAttr());
    return function;
  }

  StringRef name;
};

} // namespace

void cleave::populateMathExpansions(RewritePatternSet &patterns) {
  patterns.add<CallLibrary<math::ErfOp>>(patterns.getContext(), "erf");
  patterns.add<CallLibrary<math::ExpM1Op>>(patterns.getContext(), "expm1");
  patterns.add<CallLibrary<math::Log1pOp>>(patterns.getContext(), "log1p");
  patterns.add<Expand<math::ExpOp, expandExp>, Expand<math::ExpM1Op, expandExpm1>, Expand<math::TanhOp, expandTanh>,
               Expand<math::ErfOp, expandErf>, Expand<math::SinOp, expandSin>, Expand<math::CosOp, expandCos>>(
      patterns.getContext());
}
