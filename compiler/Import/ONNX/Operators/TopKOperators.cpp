// Imports TopK.
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/ScatterOperators.h"
#include "dialects/Cleave/IR/Scatter.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// Of equal elements, the one with the lower index comes first. The values are picked with the indices. With `sorted =
// 0` the order is free, and the same order is used.
LogicalResult importTopK(OpContext &op) {
  Value x = op.value(0);
  auto wanted = op.ints("k", 1);
  if (failed(wanted))
    return failure();
  if ((*wanted)->size() != 1)
    return op.fail("`k` (input 1) must be one integer; got " + formatShape(**wanted));
  auto dim = op.axis(op.intAttr("axis", -1), rankOf(x));
  if (failed(dim))
    return failure();
  int64_t count = (**wanted)[0], size = shapeOf(x)[*dim], last = rankOf(x) - 1;
  if (count < 0 || count > size)
    return op.fail("`k` must lie between 0 and " + llvm::Twine(size) + ", the size of dimension " + llvm::Twine(*dim) +
                   "; got " + llvm::Twine(count));
  if (elementOf(x).isInteger(1))
    return op.fail("truth values have no order; expected numbers");
  Shape order, shape(shapeOf(x));
  for (int64_t i = 0; i <= last; ++i)
    order.push_back(i < *dim ? i : i == last ? *dim : i + 1);
  shape[*dim] = count;
  if (*countElements(shape) == 0) {
    op.define(1, Binding::computed(op.emit.splat(0, RankedTensorType::get(shape, op.emit.i64()))));
    return op.result(op.emit.splat(0, typeOf(x).clone(shape)));
  }
  Value rows = op.emit.transpose(x, order);
  shape = Shape(shapeOf(rows));
  shape.back() = count;
  Value best = TopKOp::create(op.emit.builder, op.emit.loc, RankedTensorType::get(shape, op.emit.i64()),
                              op.emit.asSigned(rows), uint64_t(count), op.intAttr("largest", 1) == 0);
  Shape back = order;
  for (int64_t i = 0; i <= last; ++i)
    back[order[i]] = i;
  op.define(1, Binding::computed(op.emit.transpose(best, back)));
  return op.result(op.emit.transpose(pick(op.emit, rows, best, last, last), back));
}

} // namespace

void cleave::onnx_import::addTopKOperators(OperatorTable &table) { table.add("TopK", 13, importTopK); }
