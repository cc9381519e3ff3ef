// Imports CumSum and CumProd.
#include "compiler/Import/ONNX/Operators/CumulativeOperators.h"

#include <cmath>
#include <limits>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// How elements before a position are combined. `kind` is a sum or a product, and `neutral` is its neutral number.
struct Running {
  ReduceKind kind;
  double neutral;
  bool exclusive, reverse;
};

Value combine(Emitter &emit, const Running &running, Value a, Value b) {
  return running.kind == ReduceKind::Sum ? emit.add(a, b) : emit.mul(a, b);
}

// Returns, for every position of a dimension, the combination of the elements before it (after it if `reverse`),
// including its own unless `exclusive`. It is a selection, because in a product with a triangle of ones, one infinity
// would make all sums NaN.
Value combineBefore(Emitter &emit, Value x, int64_t dim, const Running &running) {
  Shape all(shapeOf(x)), dims;
  all.insert(all.begin() + dim, all[dim]); // dim: the position; dim + 1: the elements that it combines
  for (int64_t i = 0; i < rankOf(x); ++i)
    dims.push_back(i < dim ? i : i + 1);
  auto indices = RankedTensorType::get(all, emit.i64());
  Value to = emit.iota(dim, indices), from = emit.iota(dim + 1, indices);
  Value counted = emit.compare(running.exclusive ? Predicate::Lt : Predicate::Le, running.reverse ? to : from,
                               running.reverse ? from : to);
  Value spread = emit.broadcastDims(x, all, dims);
  Value chosen = emit.select(counted, spread, emit.splat(running.neutral, typeOf(spread)));
  return emit.reduce(running.kind, chosen, {dim + 1});
}

// Numbers along a dimension: `factors` times 2^`exponents`. The exponents are whole numbers in f64, or null.
struct Numbers {
  Value factors, exponents;
};

template <typename F> Numbers onEach(const Numbers &numbers, const Running &running, F &&change) {
  Running sum{ReduceKind::Sum, 0.0, running.exclusive, running.reverse};
  return {change(numbers.factors, running), numbers.exponents ? change(numbers.exponents, sum) : Value()};
}

Value power(Emitter &emit, Value exponents) {
  return emit.binary<PowOp>(emit.splat(2.0, typeOf(exponents)), exponents);
}

// Returns the same numbers with factors between 1/2 and 2. Only 0, infinities and NaN stay as they are. The powers of
// two are computed from integers, which have no gradient, so they are constants of the product.
Numbers normalized(Emitter &emit, const Numbers &numbers) {
  Value size = emit.unary<AbsOp>(numbers.factors);
  Value ordinary = emit.binary<AndOp>(emit.compare(Predicate::Gt, size, 0.0),
                                      emit.compare(Predicate::Lt, size, std::numeric_limits<double>::infinity()));
  Value logarithm = emit.div(emit.unary<LogOp>(emit.select(ordinary, size, emit.splat(1.0, typeOf(size)))), M_LN2);
  Value whole = emit.cast(emit.unary<FloorOp>(logarithm), emit.i64());
  // The bound keeps 2^-whole finite. A smaller number keeps a small factor.
  Value exponents = emit.cast(emit.atLeast(whole, -1000.0), elementOf(size));
  Value factors = emit.mul(numbers.factors, power(emit, emit.neg(exponents)));
  return {factors, numbers.exponents ? emit.add(numbers.exponents, exponents) : exponents};
}

// Returns factor times 2^exponent. The power is multiplied in two halves, because 2^exponent alone may exceed the type
// although the product does not. Factors are 0 or at least 1/2, so an exponent beyond the bounds gives an infinity or 0
// with them, too.
Value joined(Emitter &emit, const Numbers &numbers) {
  Value bounded = emit.atMost(emit.atLeast(numbers.exponents, -2040.0), 2046.0);
  Value half = emit.unary<FloorOp>(emit.mul(bounded, 0.5));
  return emit.mul(emit.mul(numbers.factors, power(emit, half)), power(emit, emit.sub(bounded, half)));
}

// Combines the elements of each block, then the blocks, which is n^1.5 work. A block is combined before the elements
// before it are known. So its own result must not overflow even if no result of the sequence does. Callers ensure this:
// a block has at most 256 numbers, and two levels of normalized factors are at most 2^512.
Numbers combineInBlocks(Emitter &emit, const Numbers &numbers, int64_t dim, const Running &running) {
  int64_t size = shapeOf(numbers.factors)[dim];
  if (size <= 64)
    return onEach(numbers, running, [&](Value x, const Running &by) { return combineBefore(emit, x, dim, by); });
  int64_t width = std::min<int64_t>(256, int64_t(std::ceil(std::sqrt(double(size)))));
  Shape none(rankOf(numbers.factors), 0), high = none;
  high[dim] = (size + width - 1) / width * width - size;
  Numbers blocks = onEach(numbers, running, [&](Value x, const Running &by) {
    Value padded = emit.pad(x, none, high, by.neutral);
    Shape shape(shapeOf(padded));
    shape[dim] /= width;
    shape.insert(shape.begin() + dim + 1, width);
    return emit.reshape(padded, shape);
  });
  Numbers inside =
      onEach(blocks, running, [&](Value x, const Running &by) { return combineBefore(emit, x, dim + 1, by); });
  Numbers totals =
      onEach(blocks, running, [&](Value x, const Running &by) { return emit.reduce(by.kind, x, {dim + 1}); });
  if (totals.exponents)
    totals = normalized(emit, totals);
  Running exclusive = running;
  exclusive.exclusive = true;
  Numbers before = combineInBlocks(emit, totals, dim, exclusive);
  auto join = [&](Value in, Value first, const Running &by) {
    Shape column(shapeOf(first));
    column.insert(column.begin() + dim + 1, 1);
    Value all = combine(emit, by, in, emit.reshape(first, column));
    Shape flat(shapeOf(numbers.factors));
    flat[dim] += high[dim];
    return emit.sliceDim(emit.reshape(all, flat), dim, 0, size);
  };
  Running sum{ReduceKind::Sum, 0.0, false, false};
  return {join(inside.factors, before.factors, running),
          totals.exponents ? join(inside.exponents, before.exponents, sum) : Value()};
}

// Sums of f32 numbers cannot overflow in f64. If sums of f64 numbers overflow in a block, they are computed again from
// smaller numbers.
Value combineSums(Emitter &emit, Value x, int64_t dim, const Running &running, bool mayOverflow) {
  Value sums = combineInBlocks(emit, {x, Value()}, dim, running).factors;
  if (!mayOverflow)
    return sums;
  double scale = std::ldexp(1.0, 48);
  Value smaller = combineInBlocks(emit, {emit.div(x, scale), Value()}, dim, running).factors;
  Value isFinite = emit.compare(Predicate::Lt, emit.unary<AbsOp>(sums), std::numeric_limits<double>::infinity());
  return emit.select(isFinite, sums, emit.mul(smaller, scale));
}

template <ReduceKind kind> LogicalResult importCumulative(OpContext &op) {
  Value x = op.value(0);
  auto axis = op.number("axis", 1);
  if (failed(axis))
    return failure();
  auto dim = op.axis(int64_t(axis->value_or(0)), rankOf(x));
  if (failed(dim))
    return failure();
  Running running{kind, kind == ReduceKind::Sum ? 0.0 : 1.0, op.intAttr("exclusive", 0) != 0,
                  op.intAttr("reverse", 0) != 0};
  if (isEmpty(x))
    return op.result(x);
  Emitter &emit = op.emit;
  if (!isFloat(x))
    return op.result(combineInBlocks(emit, {x, Value()}, *dim, running).factors);
  Value wide = emit.cast(x, emit.builder.getF64Type());
  Value result = kind == ReduceKind::Sum
                     ? combineSums(emit, wide, *dim, running, /*mayOverflow=*/wide == x)
                     : joined(emit, combineInBlocks(emit, normalized(emit, {wide, Value()}), *dim, running));
  return op.result(emit.cast(result, elementOf(x)));
}

} // namespace

void cleave::onnx_import::addCumulativeOperators(OperatorTable &table) {
  table.add("CumSum", 13, inF32<importCumulative<ReduceKind::Sum>>);
  table.add("CumProd", 26, inF32<importCumulative<ReduceKind::Product>>);
}
