// Imports Det, by Gaussian elimination with the largest element as the pivot. The matrices are small: the rows are
// eliminated one after the other, each in a few ops.
//
// The pivot is the largest element of all remaining rows and columns, so it is zero only if they all are. Then the
// gradient needs no special case for singular matrices. If the rank is n - 1, all pivots but the last element are
// nonzero, and the gradient of that element is their product. If the rank is lower, two factors of the product are
// zero, and so is every cofactor. The largest element of the first column would not be enough: in [[0, 1], [0, 0]] it
// is zero, and the factor of the row below it is 0 / 0.
#include "compiler/Import/ONNX/Operators/DeterminantOperators.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

constexpr int64_t kMaxSize = 64;

// Exchanges positions 0 and `at` [batch] of dimension `dim` of `x` [batch, n, n].
Value exchange(Emitter &emit, Value x, int64_t dim, Value at) {
  auto indices = RankedTensorType::get({shapeOf(x)[0], shapeOf(x)[dim]}, emit.i64());
  Value place = emit.iota(1, indices), spread = emit.broadcastDims(at, indices.getShape(), {0});
  Value first = emit.splat(0, indices);
  Value isFirst = emit.compare(Predicate::Eq, place, first), isAt = emit.compare(Predicate::Eq, place, spread);
  return pick(emit, x, emit.select(isFirst, spread, emit.select(isAt, first, place)), dim, /*batch=*/1);
}

// Eliminates one row and one column of `x` [batch, n, n], and returns their factor [batch] of the determinant. If the
// pivot is zero, the remaining elements are zero, too, and are not changed.
Value eliminate(Emitter &emit, Value &x) {
  int64_t batch = shapeOf(x)[0], n = shapeOf(x)[1];
  auto indices = RankedTensorType::get({batch}, emit.i64());
  Value best = emit.make<ArgMaxOp>(indices, emit.unary<AbsOp>(emit.reshape(x, {batch, n * n})),
                                   emit.builder.getI64IntegerAttr(1));
  Value size = emit.splat(n, indices), row = emit.div(best, size);
  Value column = emit.sub(best, emit.mul(row, size));
  Value ordered = exchange(emit, exchange(emit, x, 1, row), 2, column);
  Value head = emit.sliceDim(ordered, 1, 0, 1), rest = emit.sliceDim(ordered, 1, 1, n - 1);
  Value pivot = emit.reshape(emit.sliceDim(head, 2, 0, 1), {batch});
  Value isZero = emit.compare(Predicate::Eq, pivot, 0.0), one = emit.splat(1, typeOf(pivot));
  Value divisor = emit.select(isZero, one, pivot);
  Shape inner{batch, n - 1, n - 1};
  Value factors = emit.div(emit.reshape(emit.sliceDim(rest, 2, 0, 1), {batch, n - 1}),
                           emit.broadcastDims(divisor, {batch, n - 1}, {0}));
  Value tail = emit.reshape(emit.sliceDim(head, 2, 1, n - 1), {batch, n - 1});
  x = emit.sub(emit.sliceDim(rest, 2, 1, n - 1),
               emit.mul(emit.broadcastDims(factors, inner, {0, 1}), emit.broadcastDims(tail, inner, {0, 2})));
  // Each exchange of two positions changes the sign.
  Value rowStays = emit.compare(Predicate::Eq, row, 0.0), columnStays = emit.compare(Predicate::Eq, column, 0.0);
  Value signs = emit.select(rowStays, pivot, emit.neg(pivot));
  return emit.select(columnStays, signs, emit.neg(signs));
}

LogicalResult importDet(OpContext &op) {
  Value x = op.value(0);
  Shape shape(shapeOf(x));
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    return op.fail("expected square matrices; got shape " + formatShape(shape));
  int64_t n = shape.back();
  if (n > kMaxSize)
    return op.fail("matrices of " + llvm::Twine(n) + " rows are not supported; expected at most " +
                   llvm::Twine(kMaxSize));
  Shape outer(shape.begin(), shape.end() - 2);
  Emitter &emit = op.emit;
  if (n == 0 || isEmpty(x))
    return op.result(emit.splat(1, typeOf(x).clone(outer)));
  int64_t batch = *countElements(outer);
  x = emit.reshape(x, {batch, n, n});
  Value product;
  while (shapeOf(x)[1] > 1) {
    Value factor = eliminate(emit, x);
    product = product ? emit.mul(product, factor) : factor;
  }
  Value last = emit.reshape(x, {batch});
  return op.result(emit.reshape(product ? emit.mul(product, last) : last, outer));
}

} // namespace

void cleave::onnx_import::addDeterminantOperators(OperatorTable &table) { table.add("Det", 13, inF32<importDet>); }
