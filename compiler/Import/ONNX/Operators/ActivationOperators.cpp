// Activation functions, composed of a few primitives each.
#include "compiler/Import/ONNX/Operators/Activations.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// Imports a function x -> y of a floating-point input.
template <Value (*function)(OpContext &, Value)> LogicalResult importFunction(OpContext &op) {
  if (failed(op.expectFloat(op.value(0))))
    return failure();
  return op.result(function(op, op.value(0)));
}

Value relu(OpContext &op, Value x) { return op.emit.unary<ReluOp>(x); }
LogicalResult importRelu(OpContext &op) {
  Value x = op.value(0);
  return op.result(isFloat(x) ? relu(op, x) : op.emit.atLeast(x, 0.0)); // integers since opset 14
}
Value sigmoid(OpContext &op, Value x) { return op.emit.unary<SigmoidOp>(x); }

// Returns `positive` where x > 0, else `negative`.
Value wherePositive(Emitter &emit, Value x, Value positive, Value negative) {
  return emit.select(emit.compare(Predicate::Gt, x, 0.0), positive, negative);
}

Value leakyRelu(OpContext &op, Value x) {
  return wherePositive(op.emit, x, x, op.emit.mul(x, op.floatAttr("alpha", 0.01)));
}

Value thresholdedRelu(OpContext &op, Value x) {
  Value keep = op.emit.compare(Predicate::Gt, x, op.floatAttr("alpha", 1.0));
  return op.emit.select(keep, x, op.emit.splat(0, typeOf(x)));
}

// alpha (e^min(x, 0) - 1). The exponent is clamped, so that the branch that is not selected has a finite gradient.
Value negativeElu(Emitter &emit, Value x, double alpha) {
  Value clamped = emit.atMost(x, 0.0);
  return emit.mul(emit.unary<Expm1Op>(clamped), alpha);
}

Value elu(OpContext &op, Value x) {
  return wherePositive(op.emit, x, x, negativeElu(op.emit, x, op.floatAttr("alpha", 1.0)));
}

Value selu(OpContext &op, Value x) {
  double alpha = op.floatAttr("alpha", 1.67326319217681884765625),
         gamma = op.floatAttr("gamma", 1.05070102214813232421875);
  return op.emit.mul(wherePositive(op.emit, x, x, negativeElu(op.emit, x, alpha)), gamma);
}

// max(0, x) + alpha (e^(min(x, 0) / alpha) - 1). alpha may be negative.
Value celu(OpContext &op, Value x) {
  double alpha = op.floatAttr("alpha", 1.0);
  Value scaled = op.emit.div(op.emit.atMost(x, 0.0), alpha);
  return op.emit.add(relu(op, x), op.emit.mul(op.emit.unary<Expm1Op>(scaled), alpha));
}

// Returns `low` where x <= 0, `high` where x >= 1, else `between`. The gradient at both kinks is that of the outer
// branch, as in PyTorch. NaN stays NaN.
Value piecewise(Emitter &emit, Value x, Value low, Value between, Value high) {
  Value upper = emit.select(emit.compare(Predicate::Ge, x, 1.0), high, between);
  return emit.select(emit.compare(Predicate::Le, x, 0.0), low, upper);
}

// If alpha x + beta cancels, the error is at most 2^-22 (for alpha and beta up to 1), instead of a few ulp of the
// result.
Value hardSigmoid(OpContext &op, Value x) {
  Value line = op.emit.add(op.emit.mul(x, op.floatAttr("alpha", 0.2)), op.floatAttr("beta", 0.5));
  return piecewise(op.emit, line, op.emit.splat(0, typeOf(x)), line, op.emit.splat(1, typeOf(x)));
}

// x + 3 is exact near -3. x / 6 + 1/2 would cancel there.
Value hardSwish(OpContext &op, Value x) {
  Value line = op.emit.mul(op.emit.add(x, 3.0), 1.0 / 6);
  return piecewise(op.emit, line, op.emit.mul(x, 0.0), op.emit.mul(x, line), x);
}

Value softplus(OpContext &op, Value x) { return emitSoftplus(op.emit, x); }

Value softsign(OpContext &op, Value x) { return op.emit.div(x, op.emit.add(op.emit.unary<AbsOp>(x), 1.0)); }

// x tanh(log(1 + e^x)) = x n / (n + 2) for n = e^x (e^x + 2). For x above zero, n and 2 are divided by e^2x: n alone
// exceeds f32 from x = 44.4 on, although the result does not.
Value mish(OpContext &op, Value x) {
  Emitter &emit = op.emit;
  Value decay = emit.unary<ExpOp>(wherePositive(emit, x, emit.neg(x), x)); // at most 1
  Value n = wherePositive(emit, x, emit.add(emit.mul(decay, 2.0), 1.0), emit.mul(decay, emit.add(decay, 2.0)));
  Value two = wherePositive(emit, x, emit.mul(emit.mul(decay, decay), 2.0), emit.splat(2, typeOf(x)));
  return emit.mul(x, emit.div(n, emit.add(n, two)));
}

Value swish(OpContext &op, Value x) { return op.emit.mul(x, sigmoid(op, op.emit.mul(x, op.floatAttr("alpha", 1.0)))); }

// If x is negative, 1 + erf cancels. The error is then at most 2^-23 |x|, as in PyTorch, instead of a few ulp of the
// result.
Value gelu(OpContext &op, Value x) {
  Emitter &emit = op.emit;
  Value inner;
  if (op.stringAttr("approximate", "none") == "tanh") {
    Value cube = emit.mul(emit.mul(emit.mul(x, x), x), 0.044715);
    inner = emit.unary<TanhOp>(emit.mul(emit.add(x, cube), 0.7978845608028654)); // sqrt(2 / pi)
  } else {
    inner = emit.unary<ErfOp>(emit.mul(x, 0.7071067811865476)); // sqrt(1 / 2)
  }
  return emit.mul(emit.mul(x, 0.5), emit.add(inner, 1.0));
}

// Integers are computed in f64 and the results truncated, as in onnxruntime, because lambd and bias may have fractions.
LogicalResult importShrink(OpContext &op) {
  Value given = op.value(0), x = isFloat(given) ? given : op.emit.cast(given, op.emit.builder.getF64Type());
  double bias = op.floatAttr("bias", 0), lambda = op.floatAttr("lambd", 0.5);
  Value zero = op.emit.splat(0, typeOf(x));
  Value high = op.emit.select(op.emit.compare(Predicate::Gt, x, lambda), op.emit.add(x, -bias), zero);
  Value y = op.emit.select(op.emit.compare(Predicate::Lt, x, -lambda), op.emit.add(x, bias), high);
  return op.result(op.emit.cast(y, elementOf(given)));
}

LogicalResult importPRelu(OpContext &op) {
  Value x = op.value(0), slope = op.value(1);
  if (failed(op.expectBroadcast({x, slope})))
    return failure();
  return op.result(wherePositive(op.emit, x, x, op.emit.mul(x, slope)));
}

template <bool logarithm> LogicalResult importSoftmax(OpContext &op) {
  Value x = op.value(0);
  auto dim = op.axis(op.intAttr("axis", -1), rankOf(x));
  if (failed(dim) || failed(op.expectFloat(x)))
    return failure();
  return op.result(logarithm ? op.emit.logSoftmax(x, *dim) : op.emit.softmax(x, *dim));
}

// True if all elements equal `number`, looking through broadcasts, reshapes and casts.
bool isSplatOf(Value value, double number) {
  while (auto *op = value.getDefiningOp()) {
    if (!llvm::isa<ReshapeOp, BroadcastOp, CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(mlir::Attribute(constant.getValue()))
                           : mlir::DenseElementsAttr();
  return elements && elements.isSplat() && llvm::isa<mlir::FloatType>(elements.getElementType()) &&
         elements.getSplatValue<llvm::APFloat>().convertToDouble() == number;
}

// Returns one at the first maximum, else zero.
LogicalResult importHardmax(OpContext &op) {
  Value x = op.value(0);
  auto dim = op.axis(op.intAttr("axis", -1), rankOf(x));
  if (failed(dim))
    return failure();
  auto indexType = typeOf(x).clone(reducedShape(shapeOf(x), {*dim}, false)).clone(op.emit.i64());
  Value best = op.emit.make<ArgMaxOp>(indexType, x, op.emit.builder.getI64IntegerAttr(*dim));
  best = op.emit.broadcastTo(op.emit.reshape(best, reducedShape(shapeOf(x), {*dim}, true)), shapeOf(x));
  Value classes = op.emit.iota(*dim, typeOf(x).clone(op.emit.i64()));
  return op.result(op.emit.cast(op.emit.compare(Predicate::Eq, classes, best), elementOf(x)));
}

} // namespace

// max(x, 0) + log(1 + e^-|x|), which does not overflow. Both max and |x| are selections whose gradient at 0 is the one
// for x < 0, so the gradient of the sum is 1/2. With relu and abs, whose gradient at 0 is 0, it would be 0.
Value cleave::onnx_import::emitSoftplus(Emitter &emit, Value x) {
  Value decay = emit.unary<ExpOp>(wherePositive(emit, x, emit.neg(x), x));
  return emit.add(wherePositive(emit, x, x, emit.splat(0, typeOf(x))), emit.unary<Log1pOp>(decay));
}

// log(sigmoid(x)) = -softplus(-x), log(1 - sigmoid(x)) = -softplus(x)
Value cleave::onnx_import::emitLogProbability(Emitter &emit, Value probability) {
  auto toLog = [&](Value x, bool isRest) {
    mlir::Type element = elementOf(x), wide = element.isF64() ? element : mlir::Type(emit.builder.getF32Type());
    Value scores = emit.cast(x, wide);
    return emit.cast(emit.neg(emitSoftplus(emit, isRest ? scores : emit.neg(scores))), element);
  };
  if (auto sigmoid = probability.getDefiningOp<SigmoidOp>())
    return toLog(sigmoid.getOperand(), false);
  if (auto softmax = probability.getDefiningOp<SoftmaxOp>())
    return emit.logSoftmax(softmax.getOperand(), static_cast<int64_t>(softmax.getDim()));
  auto rest = probability.getDefiningOp<SubOp>();
  auto sigmoid = rest ? rest.getRhs().getDefiningOp<SigmoidOp>() : SigmoidOp();
  return sigmoid && isSplatOf(rest.getLhs(), 1) ? toLog(sigmoid.getOperand(), true) : Value();
}

void cleave::onnx_import::addActivationOperators(OperatorTable &table) {
  table.add("Relu", 13, importRelu);
  table.add("Sigmoid", 13, importFunction<sigmoid>);
  table.add("LeakyRelu", 13, inF32<importFunction<leakyRelu>>);
  table.add("ThresholdedRelu", 13, inF32<importFunction<thresholdedRelu>>);
  table.add("Elu", 13, inF32<importFunction<elu>>);
  table.add("Selu", 13, inF32<importFunction<selu>>);
  table.add("Celu", 13, inF32<importFunction<celu>>);
  table.add("HardSigmoid", 13, inF32<importFunction<hardSigmoid>>);
  table.add("HardSwish", 14, inF32<importFunction<hardSwish>>);
  table.add("Softplus", 13, inF32<importFunction<softplus>>);
  table.add("Softsign", 13, inF32<importFunction<softsign>>);
  table.add("Mish", 18, inF32<importFunction<mish>>);
  table.add("Swish", 24, inF32<importFunction<swish>>);
  table.add("Gelu", 20, inF32<importFunction<gelu>>);
  table.add("Shrink", 13, inF32<importShrink>);
  table.add("PRelu", 13, inF32<importPRelu>);
  table.add("Softmax", 13, importSoftmax<false>);
  table.add("LogSoftmax", 13, importSoftmax<true>);
  table.add("Hardmax", 13, importHardmax);
}
