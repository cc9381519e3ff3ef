// Imports reductions, ArgMax and ArgMin. The axes are an attribute before opset 18 (13 for ReduceSum), and an input
// since then.
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

struct Axes {
  Shape dims;
  bool keep;
};

FailureOr<Axes> reducedAxes(OpContext &op, int64_t rank) {
  auto given = op.ints("axes", 1);
  if (failed(given))
    return failure();
  bool keep = op.intAttr("keepdims", 1) != 0;
  if (*given && !(*given)->empty()) {
    auto dims = op.axes(**given, rank);
    return failed(dims) ? FailureOr<Axes>(failure()) : FailureOr<Axes>(Axes{*dims, keep});
  }
  if (op.intAttr("noop_with_empty_axes", 0) != 0)
    return Axes{{}, keep};
  return Axes{Shape(llvm::to_vector(llvm::seq<int64_t>(0, rank))), keep};
}

// Combines two known elements. Only for reductions that are exactly the fold of such pairs.
template <ReduceKind kind, typename T> T combine(T a, T b) {
  using U = std::conditional_t<std::is_same_v<T, double>, double, uint64_t>;
  switch (kind) {
  case ReduceKind::Sum:
    return T(U(a) + U(b));
  case ReduceKind::Product:
    return T(U(a) * U(b));
  case ReduceKind::Max:
    return a != a || a > b ? a : b; // NaN wins
  case ReduceKind::Min:
    return a != a || a < b ? a : b;
  }
  return a;
}

template <ReduceKind kind> LogicalResult importReduce(OpContext &op) {
  const Literal *known = op.literal(0);
  auto axes = reducedAxes(op, known ? known->rank() : rankOf(op.value(0)));
  if (failed(axes))
    return failure();
  if (known)
    if (auto value = reduceLiteral(*known, axes->dims, axes->keep, combine<kind, double>, combine<kind, int64_t>))
      return op.result(std::move(*value));
  Value x = op.value(0);
  if ((kind != ReduceKind::Max && kind != ReduceKind::Min) || isSigned(x))
    return op.result(op.emit.reduce(kind, x, axes->dims, axes->keep));
  Value extremum = op.emit.reduce(kind, op.emit.asSigned(x), axes->dims, axes->keep);
  return op.result(elementOf(x).isInteger(1) ? op.emit.compare(Predicate::Gt, extremum, 0.0)
                                             : op.emit.cast(extremum, elementOf(x)));
}

// Imports reductions with other computations before and after: `function` gets the input and the axes. If they have
// roots or logarithms, integers are computed in f64 and truncated, as in onnxruntime.
template <Value (*function)(Emitter &, Value, const Axes &), bool isWhole = false>
LogicalResult importComposed(OpContext &op) {
  Value x = op.value(0);
  auto axes = reducedAxes(op, rankOf(x));
  if (failed(axes))
    return failure();
  if (isWhole || isFloat(x))
    return op.result(function(op.emit, x, *axes));
  Value wide = op.emit.cast(x, op.emit.builder.getF64Type());
  return op.result(op.emit.cast(function(op.emit, wide, *axes), elementOf(x)));
}

// The mean of integers is truncated.
LogicalResult importMean(OpContext &op) {
  Value x = op.value(0);
  auto axes = reducedAxes(op, rankOf(x));
  bool isInteger = elementOf(x).isSignlessInteger(32) || elementOf(x).isSignlessInteger(64);
  if (failed(axes) || (!isInteger && failed(op.expectFloat(x))))
    return failure();
  if (isInteger && isEmpty(x))
    return op.fail("the mean of no integers is not defined; got shape " + formatShape(shapeOf(x)));
  return op.result(op.emit.mean(x, axes->dims, axes->keep));
}

Value sum(Emitter &emit, Value x, const Axes &axes) { return emit.reduce(ReduceKind::Sum, x, axes.dims, axes.keep); }
Value sumSquare(Emitter &emit, Value x, const Axes &axes) { return sum(emit, emit.mul(x, x), axes); }
Value l1(Emitter &emit, Value x, const Axes &axes) { return sum(emit, emit.unary<AbsOp>(x), axes); }
Value l2(Emitter &emit, Value x, const Axes &axes) { return emit.norm(sumSquare(emit, x, axes)); }
Value logSum(Emitter &emit, Value x, const Axes &axes) { return emit.unary<LogOp>(sum(emit, x, axes)); }

// max + log sum e^(x - max), which does not overflow. An infinite maximum is not subtracted, because inf - inf is NaN.
Value logSumExp(Emitter &emit, Value x, const Axes &axes) {
  Value largest = emit.reduce(ReduceKind::Max, x, axes.dims, /*keepDims=*/true);
  Value infinite = emit.compare(Predicate::Eq, emit.unary<AbsOp>(largest), INFINITY);
  largest = emit.select(infinite, emit.splat(0, typeOf(largest)), largest);
  Value total = emit.reduce(ReduceKind::Sum, emit.unary<ExpOp>(emit.sub(x, largest)), axes.dims, true);
  Value result = emit.add(emit.unary<LogOp>(total), largest);
  return emit.reshape(result, reducedShape(shapeOf(x), axes.dims, axes.keep));
}

template <bool smallest> LogicalResult importArg(OpContext &op) {
  Value x = op.emit.asSigned(op.value(0));
  auto dim = op.axis(op.intAttr("axis", 0), rankOf(x));
  if (failed(dim))
    return failure();
  if (shapeOf(x)[*dim] == 0)
    return op.fail("dimension " + llvm::Twine(*dim) + " of " + formatShape(shapeOf(x)) + " has no elements");
  int64_t size = shapeOf(x)[*dim];
  bool isLast = op.intAttr("select_last_index", 0) != 0;
  if (isLast) { // reversed, so that the first one is the last
    Value place = op.emit.iota(0, RankedTensorType::get({size}, op.emit.i64()));
    x = take(op.emit, x, op.emit.sub(op.emit.splat(double(size - 1), typeOf(place)), place), *dim);
  }
  if (smallest) // -1 - x reverses the order of integers without overflow
    x = isFloat(x) ? op.emit.neg(x) : op.emit.sub(op.emit.splat(-1, typeOf(x)), x);
  auto type = RankedTensorType::get(reducedShape(shapeOf(x), {*dim}, false), op.emit.i64());
  Value index = op.emit.make<ArgMaxOp>(type, x, op.emit.builder.getI64IntegerAttr(*dim));
  if (isLast)
    index = op.emit.sub(op.emit.splat(double(size - 1), type), index);
  bool keep = op.intAttr("keepdims", 1) != 0;
  return op.result(op.emit.reshape(index, reducedShape(shapeOf(x), {*dim}, keep)));
}

} // namespace

void cleave::onnx_import::addReductionOperators(OperatorTable &table) {
  table.add("ReduceSum", 13, importReduce<ReduceKind::Sum>);
  table.add("ReduceMax", 13, importReduce<ReduceKind::Max>);
  table.add("ReduceMin", 13, importReduce<ReduceKind::Min>);
  table.add("ReduceProd", 13, importReduce<ReduceKind::Product>);
  table.add("ReduceMean", 13, inF32<importMean>);
  table.add("ReduceSumSquare", 13, inF32<importComposed<sumSquare, /*isWhole=*/true>>);
  table.add("ReduceL1", 13, inF32<importComposed<l1, /*isWhole=*/true>>);
  table.add("ReduceL2", 13, inF32<importComposed<l2>>);
  table.add("ReduceLogSum", 13, inF32<importComposed<logSum>>);
  table.add("ReduceLogSumExp", 13, inF32<importComposed<logSumExp>>);
  table.add("ArgMax", 13, importArg<false>);
  table.add("ArgMin", 13, importArg<true>);
}
