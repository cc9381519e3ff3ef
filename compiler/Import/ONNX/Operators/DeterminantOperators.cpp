// Det, by Gaussian elimination with the largest pivot of each column. The matrices are small: the rows are eliminated
// one after the other, each in a few ops.
#include "compiler/Import/ONNX/Operators/DeterminantOperators.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

constexpr int64_t kMaxSize = 64;

// One step: takes the first row and column away from `x` [batch, n, n], and gives the factor [batch] of the
// determinant. A column of zeros gives the factor 0, and the rest is left as it is.
Value eliminate(Emitter &emit, Value &x) {
  int64_t batch = shapeOf(x)[0], n = shapeOf(x)[1];
  auto numbers = typeOf(x).clone({batch, n});
  Value column = emit.reshape(emit.sliceDim(x, 2, 0, 1), {batch, n});
  Value best = emit.make<ArgMaxOp>(RankedTensorType::get({batch}, emit.i64()), emit.unary<AbsOp>(column),
                                   emit.builder.getI64IntegerAttr(1));
  // Rows 0 and `best` change places.
  auto indices = numbers.clone(emit.i64());
  Value row = emit.iota(1, indices), spread = emit.broadcastDims(best, {batch, n}, {0}), first = emit.splat(0, indices);
  Value isBest = emit.compare(Predicate::Eq, row, spread), isFirst = emit.compare(Predicate::Eq, row, first);
  Value order = emit.select(isFirst, spread, emit.select(isBest, first, row));
  Value swapped = pick(emit, x, order, /*dim=*/1, /*batch=*/1);
  Value head = emit.sliceDim(swapped, 1, 0, 1), rest = emit.sliceDim(swapped, 1, 1, n - 1);
  Value pivot = emit.reshape(emit.sliceDim(head, 2, 0, 1), {batch});
  Value isZero = emit.compare(Predicate::Eq, pivot, 0.0), one = emit.splat(1, typeOf(pivot));
  Value divisor = emit.select(isZero, one, pivot);
  Shape inner{batch, n - 1, n - 1};
  Value factors = emit.div(emit.reshape(emit.sliceDim(rest, 2, 0, 1), {batch, n - 1}),
                           emit.broadcastDims(divisor, {batch, n - 1}, {0}));
  Value tail = emit.reshape(emit.sliceDim(head, 2, 1, n - 1), {batch, n - 1});
  x = emit.sub(emit.sliceDim(rest, 2, 1, n - 1),
               emit.mul(emit.broadcastDims(factors, inner, {0, 1}), emit.broadcastDims(tail, inner, {0, 2})));
  Value stays = emit.compare(Predicate::Eq, best, 0.0);
  return emit.select(stays, pivot, emit.neg(pivot));
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
