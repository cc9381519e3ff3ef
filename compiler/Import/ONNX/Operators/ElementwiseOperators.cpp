// Imports element-wise arithmetic. Known operands are evaluated.
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Operators/Activations.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "dialects/Cleave/IR/Trigonometry.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// Integer arithmetic that wraps around, because the operands come from the file.
int64_t wrap(uint64_t value) { return int64_t(value); }
int64_t safeDiv(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? wrap(-uint64_t(a)) : a / b; }
int64_t safeRem(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// A binary operator: its op, and its result for known operands.
struct Add {
  using Op = AddOp;
  static double real(double a, double b) { return a + b; }
  static int64_t integer(int64_t a, int64_t b) { return wrap(uint64_t(a) + uint64_t(b)); }
};
struct Sub {
  using Op = SubOp;
  static double real(double a, double b) { return a - b; }
  static int64_t integer(int64_t a, int64_t b) { return wrap(uint64_t(a) - uint64_t(b)); }
};
struct Mul {
  using Op = MulOp;
  static double real(double a, double b) { return a * b; }
  static int64_t integer(int64_t a, int64_t b) { return wrap(uint64_t(a) * uint64_t(b)); }
};
struct Div {
  using Op = DivOp;
  static double real(double a, double b) { return a / b; }
  static int64_t integer(int64_t a, int64_t b) { return safeDiv(a, b); }
};
struct Max {
  using Op = MaxOp;
  static double real(double a, double b) { return std::isnan(a) || a > b ? a : b; }
  static int64_t integer(int64_t a, int64_t b) { return std::max(a, b); }
};
struct Min {
  using Op = MinOp;
  static double real(double a, double b) { return std::isnan(a) || a < b ? a : b; }
  static int64_t integer(int64_t a, int64_t b) { return std::min(a, b); }
};

template <typename F> LogicalResult importBinary(OpContext &op) {
  if (op.literal(0) && op.literal(1) && op.literal(0)->element() == op.literal(1)->element())
    if (auto known = mapLiterals(*op.literal(0), *op.literal(1), op.literal(0)->element(), F::real, F::integer))
      return op.result(std::move(*known));
  if (failed(op.expectBroadcast({op.value(0), op.value(1)})))
    return failure();
  return op.result(op.emit.binary<typename F::Op>(op.value(0), op.value(1)));
}

// Imports an operator with any number of operands, which are combined from left to right.
template <typename F> LogicalResult importVariadic(OpContext &op) {
  if (op.numInputs() == 2)
    return importBinary<F>(op);
  llvm::SmallVector<Value> values = op.values();
  if (failed(op.expectBroadcast(values)))
    return failure();
  Value result = values[0];
  for (Value value : llvm::drop_begin(values))
    result = op.emit.binary<typename F::Op>(result, value);
  return op.result(result);
}

LogicalResult importMean(OpContext &op) {
  llvm::SmallVector<Value> values = op.values();
  if (failed(op.expectFloat(op.value(0))) || failed(op.expectBroadcast(values)))
    return failure();
  Value sum = values[0];
  for (Value value : llvm::drop_begin(values))
    sum = op.emit.add(sum, value);
  return op.result(op.emit.div(sum, double(op.numInputs())));
}

LogicalResult importMod(OpContext &op) {
  bool fmod = op.intAttr("fmod", 0) != 0;
  if (!fmod && (op.literal(0) ? op.literal(0)->isFloat() : isFloat(op.value(0))))
    return op.fail("floating-point numbers need `fmod` = 1");
  auto floorMod = [](int64_t a, int64_t b) {
    int64_t rest = safeRem(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  };
  if (op.literal(0) && op.literal(1) && op.literal(0)->element() == op.literal(1)->element())
    if (auto known = mapLiterals(
            *op.literal(0), *op.literal(1), op.literal(0)->element(),
            [](double a, double b) { return std::fmod(a, b); },
            [&](int64_t a, int64_t b) { return fmod ? safeRem(a, b) : floorMod(a, b); }))
      return op.result(std::move(*known));
  Value a = op.value(0), b = op.value(1);
  if (failed(op.expectBroadcast({a, b})))
    return failure();
  Value rest = op.emit.binary<RemOp>(a, b);
  if (fmod)
    return op.result(rest);
  // The remainder gets the divisor's sign: the divisor is added where the signs differ.
  b = op.emit.broadcastTo(b, shapeOf(rest));
  Value differ =
      op.emit.binary<XorOp>(op.emit.compare(Predicate::Lt, rest, 0.0), op.emit.compare(Predicate::Lt, b, 0.0));
  Value fix = op.emit.binary<AndOp>(differ, op.emit.compare(Predicate::Ne, rest, 0.0));
  return op.result(op.emit.select(fix, op.emit.add(rest, b), rest));
}

// Returns a power by ops whose gradient is simpler, and defined for negative bases. Returns null for other exponents.
Value emitKnownPower(Emitter &emit, Value base, double exponent) {
  if (exponent == 1)
    return base;
  if (exponent == 0.5)
    return emit.unary<SqrtOp>(base);
  if (exponent == -0.5)
    return emit.unary<RsqrtOp>(base);
  if (exponent == -1)
    return emit.div(emit.splat(1, typeOf(base)), base);
  if (exponent == 2 || exponent == 3 || exponent == 4) {
    Value square = emit.mul(base, base);
    return exponent == 2 ? square : emit.mul(square, exponent == 3 ? base : square);
  }
  return nullptr;
}

// Multiplies by repeated squaring, so that the result wraps around like products.
LogicalResult importIntegerPow(OpContext &op, Value base) {
  auto given = op.number("exponent", 1);
  if (failed(given))
    return failure();
  double exponent = **given;
  if (!(exponent >= 0 && exponent <= 64) || exponent != std::floor(exponent) ||
      broadcastShapes(shapeOf(base), op.literal(1) ? op.literal(1)->shape() : shapeOf(op.value(1))) !=
          Shape(shapeOf(base)))
    return op.fail("integers have powers of integers from 0 to 64 only; got: " + std::to_string(exponent));
  Value result;
  for (unsigned left = unsigned(exponent); left > 0; left /= 2) {
    if (left % 2 == 1)
      result = result ? op.emit.mul(result, base) : base;
    base = op.emit.mul(base, base);
  }
  return op.result(result ? result : op.emit.splat(1, typeOf(base)));
}

// Returns the exact power, which wraps around like products. A negative exponent gives the real power without its
// fraction.
int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, square = uint64_t(base);
  for (; exponent > 0; exponent /= 2, square *= square)
    if (exponent % 2 == 1)
      result *= square;
  return wrap(result);
}

// True if the exponents may be integers that this type cannot represent.
bool isRounded(OpContext &op, mlir::Type element) {
  unsigned digits = llvm::cast<mlir::FloatType>(element).getFPMantissaWidth();
  const Literal *known = op.literal(1);
  if (known ? known->isFloat() : isFloat(op.value(1)))
    return false;
  if (!known || !mayEvaluate(op.emit.context(), known->shape()))
    return elementOf(op.value(1)).getIntOrFloatBitWidth() > digits;
  return llvm::any_of(known->ints(), [&](int64_t i) { return std::fabs(double(i)) > std::ldexp(1.0, int(digits)); });
}

LogicalResult importPow(OpContext &op) {
  const Literal *a = op.literal(0), *b = op.literal(1);
  bool isExact = a && b && !a->isFloat() && !b->isFloat();
  auto asReal = [&](const Literal &given) {
    bool widened = !isExact && !a->isFloat() && (given.isSplat() || mayEvaluate(op.emit.context(), given.shape()));
    return widened ? given.withElement(op.emit.builder.getF64Type()) : given;
  };
  if (a && b)
    if (auto known = mapLiterals(
            asReal(*a), asReal(*b), a->element(), [](double x, double y) { return std::pow(x, y); }, integerPower))
      return op.result(std::move(*known));
  Value base = op.value(0);
  if (b && b->numElements() == 1 && broadcastShapes(shapeOf(base), b->shape()) == Shape(shapeOf(base)))
    if (Value result = isFloat(base) ? emitKnownPower(op.emit, base, b->asReal(0)) : Value())
      return op.result(result);
  if (!isFloat(base))
    return importIntegerPow(op, base);
  // An odd exponent must stay odd. In the base's type it could be rounded to an even number.
  mlir::Type element = isRounded(op, elementOf(base)) ? op.emit.builder.getF64Type() : elementOf(base);
  Value wide = op.emit.cast(base, element), exponent = op.emit.cast(op.value(1), element);
  if (failed(op.expectBroadcast({wide, exponent})))
    return failure();
  Value power = op.emit.binary<PowOp>(wide, exponent);
  return op.result(op.emit.cast(power, elementOf(base)));
}

// A unary operator: its op, and its result for a known operand.
struct Neg {
  using Op = NegOp;
  static double real(double a) { return -a; }
  static int64_t integer(int64_t a) { return wrap(-uint64_t(a)); }
};
struct Abs {
  using Op = AbsOp;
  static double real(double a) { return std::fabs(a); }
  static int64_t integer(int64_t a) { return a < 0 ? wrap(-uint64_t(a)) : a; }
};
struct Sign {
  using Op = SignOp;
  static double real(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
  static int64_t integer(int64_t a) { return a > 0 ? 1 : a < 0 ? -1 : 0; }
};
template <typename OpTy, double (*function)(double)> struct Real {
  using Op = OpTy;
  static double real(double a) { return function(a); }
  static int64_t integer(int64_t a) { return a; }
};
using Exp = Real<ExpOp, std::exp>;
using Log = Real<LogOp, std::log>;
using Sqrt = Real<SqrtOp, std::sqrt>;
using Tanh = Real<TanhOp, std::tanh>;
using Erf = Real<ErfOp, std::erf>;
using Sin = Real<SinOp, std::sin>;
using Cos = Real<CosOp, std::cos>;
using Asin = Real<AsinOp, std::asin>;
using Acos = Real<AcosOp, std::acos>;
using Atan = Real<AtanOp, std::atan>;
using Floor = Real<FloorOp, std::floor>;
using Ceil = Real<CeilOp, std::ceil>;
using Round = Real<RoundOp, std::nearbyint>;

template <typename F> LogicalResult importUnary(OpContext &op) {
  constexpr bool real = !std::is_same_v<F, Neg> && !std::is_same_v<F, Abs> && !std::is_same_v<F, Sign>;
  if (const Literal *a = op.literal(0); a && (a->isFloat() || !real))
    if (auto known = mapLiterals(
            *a, *a, a->element(), [](double x, double) { return F::real(x); },
            [](int64_t x, int64_t) { return F::integer(x); }))
      return op.result(std::move(*known));
  if (real && failed(op.expectFloat(op.value(0))))
    return failure();
  return op.result(op.emit.unary<typename F::Op>(op.value(0)));
}

LogicalResult importLog(OpContext &op) {
  Value ofScores = op.literal(0) ? Value() : emitLogProbability(op.emit, op.value(0));
  return ofScores ? op.result(ofScores) : importUnary<Log>(op);
}

LogicalResult importReciprocal(OpContext &op) {
  if (failed(op.expectFloat(op.value(0))))
    return failure();
  return op.result(op.emit.div(op.emit.splat(1, typeOf(op.value(0))), op.value(0)));
}

LogicalResult importTan(OpContext &op) {
  if (failed(op.expectFloat(op.value(0))))
    return failure();
  return op.result(op.emit.div(op.emit.unary<SinOp>(op.value(0)), op.emit.unary<CosOp>(op.value(0))));
}

LogicalResult castTo(OpContext &op, mlir::Type element) {
  if (const Literal *a = op.literal(0);
      a && mayEvaluate(op.emit.context(), a->isSplat() ? llvm::ArrayRef<int64_t>() : a->shape()))
    return op.result(a->withElement(element));
  return op.result(op.emit.cast(op.value(0), element));
}

LogicalResult importCast(OpContext &op) {
  int64_t to = op.intAttr("to", 0);
  mlir::Type element = elementTypeOf(op.emit.context(), int(to));
  if (!element)
    return op.fail("cast to the element type " + dataTypeName(int(to)) + " is not supported");
  return castTo(op, element);
}

LogicalResult importCastLike(OpContext &op) { return castTo(op, elementOf(op.value(1))); }

LogicalResult importClip(OpContext &op) {
  Value result = op.value(0);
  for (size_t i : {1, 2}) {
    if (!op.has(i))
      continue;
    if (typeOf(op.value(i)).getNumElements() != 1)
      return op.fail("the bound " + quote(op.inputName(i)) + " must be one number; got shape " +
                     formatShape(shapeOf(op.value(i))));
    Value bound = op.emit.reshape(op.value(i), {});
    result = i == 1 ? op.emit.atLeast(result, bound) : op.emit.atMost(result, bound);
  }
  return op.result(result);
}

} // namespace

void cleave::onnx_import::addElementwiseOperators(OperatorTable &table) {
  table.add("Add", 13, importBinary<Add>);
  table.add("Sub", 13, importBinary<Sub>);
  table.add("Mul", 13, importBinary<Mul>);
  table.add("Div", 13, importBinary<Div>);
  table.add("Max", 13, importVariadic<Max>);
  table.add("Min", 13, importVariadic<Min>);
  table.add("Sum", 13, inF32<importVariadic<Add>>);
  table.add("Mean", 13, inF32<importMean>);
  table.add("Mod", 13, importMod);
  table.add("Pow", 13, inF32<importPow>);
  table.add("Neg", 13, importUnary<Neg>);
  table.add("Abs", 13, importUnary<Abs>);
  table.add("Sign", 13, importUnary<Sign>);
  table.add("Exp", 13, importUnary<Exp>);
  table.add("Log", 13, importLog);
  table.add("Sqrt", 13, importUnary<Sqrt>);
  table.add("Tanh", 13, importUnary<Tanh>);
  table.add("Erf", 13, importUnary<Erf>);
  table.add("Sin", 13, importUnary<Sin>);
  table.add("Cos", 13, importUnary<Cos>);
  table.add("Tan", 13, inF32<importTan>);
  table.add("Asin", 13, importUnary<Asin>);
  table.add("Acos", 13, importUnary<Acos>);
  table.add("Atan", 13, importUnary<Atan>);
  table.add("Floor", 13, importUnary<Floor>);
  table.add("Ceil", 13, importUnary<Ceil>);
  table.add("Round", 13, importUnary<Round>);
  table.add("Reciprocal", 13, importReciprocal);
  table.add("Cast", 13, importCast);
  table.add("CastLike", 15, importCastLike);
  table.add("Clip", 13, importClip);
}
