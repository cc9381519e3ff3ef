#include "compiler/Codegen/CUDA/FloatFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cleave;

namespace {

// Writes formulas in f32.
class Formula {
public:
  Formula(PatternRewriter &rewriter, Location location) : builder(rewriter), location(location) {}

  Value number(float value) { return arith::ConstantOp::create(builder, location, builder.getF32FloatAttr(value)); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, location, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, location, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, location, a, b, c); }
  // An instruction of PTX that flushes subnormal numbers: "ex2" is accurate to 2 ulp, "rcp" to 1 ulp (PTX ISA).
  Value approximate(StringRef instruction, Value x) {
    auto name = builder.getStringAttr("llvm.nvvm." + instruction + ".approx.ftz" + (instruction == "rcp" ? ".f" : ""));
    return LLVM::CallIntrinsicOp::create(builder, location, builder.getF32Type(), name, ValueRange{x}).getResult(0);
  }

  // c[0] x^k + c[1] x^(k-1) + ... + c[k]
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = number(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient));
    return sum;
  }
  // Returns `near` if |x| is below a bound, and else `far` with the sign of x: an odd function by two formulas.
  Value odd(Value x, Value size, float bound, Value near, Value far) {
    far = math::CopySignOp::create(builder, location, far, x);
    Value isNear = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLT, size, number(bound));
    return arith::SelectOp::create(builder, location, isNear, near, far);
  }

  Value exp(Value x);
  Value tanh(Value x);
  Value erf(Value x);

private:
  PatternRewriter &builder;
  Location location;
};

} // namespace

// exp(x) = 2^j 2^r with an integer j near x log2(e), so that |r| <= 1/2. |j| is limited to 126, so that 2^j is a normal
// number. r then has the rest of the exponent, and the last product makes large results infinite and small ones
// subnormal. NaN stays NaN in r.
Value Formula::exp(Value x) {
  // log2(e) as a sum of two. The lowest bits of a number from 1.5 * 2^23 on are those of an integer: j plus the
  // exponent's bias.
  constexpr float kHigh = 1.44269502f, kLow = 1.92596299e-8f, kShift = 0x1.8p23f + 127;
  Value shifted = fma(x, number(kHigh), number(kShift));
  shifted = arith::MaximumFOp::create(builder, location, shifted, number(kShift - 126));
  shifted = arith::MinimumFOp::create(builder, location, shifted, number(kShift + 126));
  Value minus = arith::SubFOp::create(builder, location, number(kShift), shifted);
  Value r = fma(x, number(kLow), fma(x, number(kHigh), minus));
  Value word = arith::BitcastOp::create(builder, location, builder.getI32Type(), shifted);
  Value places = arith::ConstantIntOp::create(builder, location, 23, 32);
  Value exponent = arith::ShLIOp::create(builder, location, word, places);
  return mul(approximate("ex2", r), arith::BitcastOp::create(builder, location, builder.getF32Type(), exponent));
}

// The polynomials below are fitted by least squares of the result's relative error, with weights that make the largest
// errors equal.

// From 0.6 on 1 - 2t / (1 + t) with t = exp(-2|x|); below, an odd polynomial.
Value Formula::tanh(Value x) {
  constexpr float kScale = -2.88539008f; // -2 log2(e)
  Value size = math::AbsFOp::create(builder, location, x);
  Value t = approximate("ex2", mul(size, number(kScale)));
  Value far = fma(mul(number(-2), t), approximate("rcp", add(t, number(1))), number(1));
  Value square = mul(x, x);
  Value series = polynomial(square, {-0.0058607417f, 0.020769527f, -0.05377699f, 0.13331857f, -0.33333296f});
  return odd(x, size, 0.6f, fma(mul(x, square), series, x), far);
}

// From 1 on 1 - erfc(|x|), where log2(erfc) is a polynomial; below, an odd polynomial. From 4 on, 1 - erfc is 1 in f32.
// The error is at most 1.8 units in the last place.
Value Formula::erf(Value x) {
  Value size = math::AbsFOp::create(builder, location, x);
  Value end = arith::MinimumFOp::create(builder, location, size, number(4));
  Value exponent =
      polynomial(end, {-0.0016695531f, 0.021398101f, -0.12811172f, -0.94386774f, -1.6123875f, -0.0037784379f});
  Value far = arith::SubFOp::create(builder, location, number(1), approximate("ex2", exponent));
  Value series =
      polynomial(mul(x, x), {-0.00056313927f, 0.004917544f, -0.026711304f, 0.1128018f, -0.37612325f, 0.12837912f});
  return odd(x, size, 1, fma(x, series, x), far);
}

namespace {

template <typename Op, Value (Formula::*formula)(Value)> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    Formula writer(rewriter, op.getLoc());
    rewriter.replaceOp(op, (writer.*formula)(op.getOperand()));
    return success();
  }
};

} // namespace

void cleave::populateFloatFunctions(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, &Formula::exp>, Expand<math::TanhOp, &Formula::tanh>,
               Expand<math::ErfOp, &Formula::erf>>(patterns.getContext());
}
