// The inverse tangent as in Sun's fdlibm, without branches; inverse sine and cosine are computed by it.
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Trigonometry.h"

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

namespace {

// For numbers t with |t| < 7/16: atan(t) = t - t * (t^2 * (series[0] + t^2 * (series[1] + ...))).
struct Series {
  llvm::ArrayRef<double> series;
  double high[4], low[4]; // atan(0.5), atan(1), atan(1.5), atan(inf): each as a number of the type, and the rest
};

const double kSeriesF32[] = {3.3333328366e-01, -1.9999158382e-01, 1.4253635705e-01, -1.0648017377e-01,
                             6.1687607318e-02};
const Series kF32 = {kSeriesF32,
                     {4.6364760399e-01, 7.8539812565e-01, 9.8279368877e-01, 1.5707962513e+00},
                     {5.0121582440e-09, 3.7748947079e-08, 3.4473217170e-08, 7.5497894159e-08}};
const double kSeriesF64[] = {3.33333333333329318027e-01,  -1.99999999998764832476e-01, 1.42857142725034663711e-01,
                             -1.11111104054623557880e-01, 9.09088713343650656196e-02,  -7.69187620504482999495e-02,
                             6.66107313738753120669e-02,  -5.83357013379057348645e-02, 4.97687799461593236017e-02,
                             -3.65315727442169155270e-02, 1.62858201153657823623e-02};
const Series kF64 = {
    kSeriesF64,
    {4.63647609000806093515e-01, 7.85398163397448278999e-01, 9.82793723247329054082e-01, 1.57079632679489655800e+00},
    {2.26987774529616870924e-17, 3.06161699786838301793e-17, 1.39033110312309984516e-17, 6.12323399573676603587e-17}};

// Arithmetic on one element of f32 or f64 that reads like the formula.
struct Scalar {
  OpBuilder &b;
  Location loc;
  mlir::Type type;

  Value number(double value) const { return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value)); }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, loc, x, y); }
  Value root(Value x) const { return math::SqrtOp::create(b, loc, x); }
  Value less(Value x, double limit) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, number(limit));
  }
  Value choose(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(b, loc, condition, yes, no);
  }

  // Returns the inverse tangent of a = |x| >= 0. Beyond 7/16, atan(a) = atan(c) + atan(t) for t = (a - c) / (1 + a c).
  // c is that of 0.5, 1, 1.5 and infinity for which |t| stays below 7/16. For NaN, the last c is chosen, and the result
  // is NaN.
  Value atan(Value a) const {
    const Series &of = type.isF64() ? kF64 : kF32;
    Value one = number(1), isSmall = less(a, 7. / 16), isHalf = less(a, 11. / 16);
    Value isOne = less(a, 19. / 16), isMore = less(a, 39. / 16);
    auto pick = [&](Value small, Value half, Value atOne, Value more, Value large) {
      return choose(isSmall, small, choose(isHalf, half, choose(isOne, atOne, choose(isMore, more, large))));
    };
    Value twice = add(a, a), threeHalves = number(1.5);
    Value above = pick(a, sub(twice, one), sub(a, one), sub(a, threeHalves), number(-1));
    Value below = pick(one, add(a, number(2)), add(a, one), add(one, mul(threeHalves, a)), a);
    Value high = pick(number(0), number(of.high[0]), number(of.high[1]), number(of.high[2]), number(of.high[3]));
    Value low = pick(number(0), number(of.low[0]), number(of.low[1]), number(of.low[2]), number(of.low[3]));
    Value t = div(above, below), square = mul(t, t), sum = number(of.series.back());
    for (double coefficient : llvm::reverse(of.series.drop_back()))
      sum = add(number(coefficient), mul(square, sum));
    Value curved = sub(mul(t, mul(square, sum)), low);
    return sub(high, sub(curved, t));
  }
};

// Computes `body` of an element in f32 or wider. The result is rounded once.
template <typename Body> Value inWide(OpBuilder &b, Location loc, Value x, Body body) {
  mlir::Type narrow = x.getType();
  bool isNarrow = narrow.getIntOrFloatBitWidth() < 32;
  Scalar f{b, loc, isNarrow ? b.getF32Type() : narrow};
  Value result = body(f, isNarrow ? arith::ExtFOp::create(b, loc, f.type, x).getResult() : x);
  return isNarrow ? arith::TruncFOp::create(b, loc, narrow, result).getResult() : result;
}

} // namespace

Value AtanOp::buildScalar(OpBuilder &builder, Location loc, ValueRange elements) {
  return inWide(builder, loc, elements[0], [&](const Scalar &f, Value x) -> Value {
    return math::CopySignOp::create(f.b, loc, f.atan(math::AbsFOp::create(f.b, loc, x)), x);
  });
}

// atan(|x| / sqrt((1 - |x|) (1 + |x|))), where 1 - |x| is exact near 1. At 1 the quotient is infinite; beyond 1 it is
// NaN.
Value AsinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange elements) {
  return inWide(builder, loc, elements[0], [&](const Scalar &f, Value x) -> Value {
    Value size = math::AbsFOp::create(f.b, loc, x), one = f.number(1);
    Value other = f.root(f.mul(f.sub(one, size), f.add(one, size)));
    return math::CopySignOp::create(f.b, loc, f.atan(f.div(size, other)), x);
  });
}

// 2 atan(sqrt((1 - x) / (1 + x))): the inverse tangent is half of the angle. At -1 the quotient is infinite; beyond 1
// and -1 it is negative.
Value AcosOp::buildScalar(OpBuilder &builder, Location loc, ValueRange elements) {
  return inWide(builder, loc, elements[0], [&](const Scalar &f, Value x) -> Value {
    Value one = f.number(1), half = f.atan(f.root(f.div(f.sub(one, x), f.add(one, x))));
    return f.add(half, half);
  });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

// Returns sqrt(1 - x^2), without cancellation near 1 and -1.
static Value distanceFromOne(mlir::ImplicitLocOpBuilder &b, Value x) {
  Value one = splatLike(b, x, 1);
  return SqrtOp::create(b, MulOp::create(b, SubOp::create(b, one, x), AddOp::create(b, one, x)));
}

mlir::LogicalResult AsinOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads,
                                     llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  mlir::ImplicitLocOpBuilder b(getLoc(), builder);
  operandGrads[0] = DivOp::create(b, resultGrads[0], distanceFromOne(b, getOperand()));
  return mlir::success();
}

mlir::LogicalResult AcosOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads,
                                     llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  mlir::ImplicitLocOpBuilder b(getLoc(), builder);
  operandGrads[0] = NegOp::create(b, DivOp::create(b, resultGrads[0], distanceFromOne(b, getOperand())));
  return mlir::success();
}

mlir::LogicalResult AtanOp::buildVJP(OpBuilder &builder, llvm::ArrayRef<Value> resultGrads,
                                     llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  mlir::ImplicitLocOpBuilder b(getLoc(), builder);
  Value square = MulOp::create(b, getOperand(), getOperand());
  operandGrads[0] = DivOp::create(b, resultGrads[0], AddOp::create(b, splatLike(b, square, 1), square));
  return mlir::success();
}
