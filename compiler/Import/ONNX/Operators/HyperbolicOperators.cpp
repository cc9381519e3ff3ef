// Imports Sinh, Cosh and their inverses, composed of exponentials and logarithms. (Tanh is an op of the dialect.)
//
// The error of each is at most 4 ulp for every f32 number: another formula is used where one would overflow or cancel.
// Odd functions are computed from |x|, and get the sign of x. Where a selection uses one formula, the operand of the
// other one is replaced by one at which it is finite, so that its gradient, times zero, is zero and not NaN.
#include "compiler/Import/ONNX/Operators/HyperbolicOperators.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// Returns |x|, with gradient -1 at 0. abs has gradient 0 there, and the gradient of sinh is not 0.
Value magnitude(Emitter &emit, Value x) { return emit.select(emit.compare(Predicate::Gt, x, 0.0), x, emit.neg(x)); }

// Gives the sign of x to `ofSize`, the function's value at |x|.
Value withSignOf(Emitter &emit, Value x, Value ofSize) {
  return emit.select(emit.compare(Predicate::Gt, x, 0.0), ofSize, emit.neg(ofSize));
}

// Returns e^x / 2, computed as (e^(x/2) / 2) e^(x/2), because e^x overflows before the hyperbolic functions do.
Value halfExp(Emitter &emit, Value x) {
  Value root = emit.unary<ExpOp>(emit.mul(x, 0.5));
  return emit.mul(emit.mul(root, 0.5), root);
}

// e^|x| / 2 + e^-|x| / 2
LogicalResult importCosh(OpContext &op) {
  if (failed(op.expectFloat(op.value(0))))
    return failure();
  Value half = halfExp(op.emit, magnitude(op.emit, op.value(0)));
  return op.result(op.emit.add(half, op.emit.div(op.emit.splat(0.25, typeOf(half)), half)));
}

// Computed from |x|, with the sign of x. Below 1 it is (m + m / (m + 1)) / 2 for m = e^|x| - 1, because e^|x| - e^-|x|
// would cancel.
LogicalResult importSinh(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)))
    return failure();
  Emitter &emit = op.emit;
  Value size = magnitude(emit, x), half = halfExp(emit, size);
  Value large = emit.sub(half, emit.div(emit.splat(0.25, typeOf(half)), half));
  Value m = emit.unary<Expm1Op>(emit.atMost(size, 1.0));
  Value small = emit.mul(emit.add(m, emit.div(m, emit.add(m, 1.0))), 0.5);
  Value result = emit.select(emit.compare(Predicate::Lt, size, 1.0), small, large);
  return op.result(withSignOf(emit, x, result));
}

// From here on, asinh(x) and acosh(x) equal log(2x) to the last bit of f64: 1 / (4 x^2) is less than 2^-53 of it.
constexpr double kLarge = 0x1p30;

// Returns `small` where x < kLarge, else log(x) + log(2), because 2x may overflow.
Value orLogarithm(Emitter &emit, Value x, Value small) {
  Value large = emit.add(emit.unary<LogOp>(emit.atLeast(x, kLarge)), M_LN2);
  return emit.select(emit.compare(Predicate::Lt, x, kLarge), small, large);
}

// Computed from |x|: log(a + s) for s = sqrt(a^2 + 1), as log1p(a + (s - 1)). s - 1 = a^2 / (s + 1) does not cancel.
LogicalResult importAsinh(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)))
    return failure();
  Emitter &emit = op.emit;
  Value size = magnitude(emit, x), a = emit.atMost(size, kLarge), square = emit.mul(a, a);
  Value root = emit.unary<SqrtOp>(emit.add(square, 1.0));
  Value small = emit.unary<Log1pOp>(emit.add(a, emit.div(square, emit.add(root, 1.0))));
  return op.result(withSignOf(emit, x, orLogarithm(emit, size, small)));
}

// log(x + sqrt(x^2 - 1)), computed as log1p(t + sqrt(t (t + 2))) for t = x - 1, which is exact near 1. Below 1 the
// result is set to NaN, because the formula would give a number for t < -2.
LogicalResult importAcosh(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)))
    return failure();
  Emitter &emit = op.emit;
  Value t = emit.add(emit.atMost(x, kLarge), -1.0);
  Value root = emit.unary<SqrtOp>(emit.mul(t, emit.add(t, 2.0)));
  Value result = orLogarithm(emit, x, emit.unary<Log1pOp>(emit.add(t, root)));
  return op.result(emit.select(emit.compare(Predicate::Lt, x, 1.0), emit.splat(std::nan(""), typeOf(x)), result));
}

// Computed from |x|: log((1 + a) / (1 - a)) / 2, as log1p(2 a / (1 - a)) / 2. Beyond 1 the operand of log1p is below
// -1, so the result is NaN.
LogicalResult importAtanh(OpContext &op) {
  Value x = op.value(0);
  if (failed(op.expectFloat(x)))
    return failure();
  Emitter &emit = op.emit;
  Value a = magnitude(emit, x);
  Value ratio = emit.div(emit.add(a, a), emit.add(emit.neg(a), 1.0));
  return op.result(withSignOf(emit, x, emit.mul(emit.unary<Log1pOp>(ratio), 0.5)));
}

} // namespace

void cleave::onnx_import::addHyperbolicOperators(OperatorTable &table) {
  table.add("Sinh", 13, inF32<importSinh>);
  table.add("Cosh", 13, inF32<importCosh>);
  table.add("Asinh", 13, inF32<importAsinh>);
  table.add("Acosh", 13, inF32<importAcosh>);
  table.add("Atanh", 13, inF32<importAtanh>);
}
