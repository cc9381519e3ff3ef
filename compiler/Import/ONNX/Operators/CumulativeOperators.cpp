// CumSum and CumProd.
#include "compiler/Import/ONNX/Operators/CumulativeOperators.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

// How places before a place are combined: `kind` is a sum or a product, and `neutral` its number that changes nothing.
struct Running {
  ReduceKind kind;
  double neutral;
  bool exclusive, reverse;
};

Value combine(Emitter &emit, const Running &running, Value a, Value b) {
  return running.kind == ReduceKind::Sum ? emit.add(a, b) : emit.mul(a, b);
}

// Every place of a dimension has what the places before it (after it when `reverse`) are combined to, with its own
// unless `exclusive`. A selection: in a product with a triangle of ones, one infinity would make NaN of all sums.
Value combineBefore(Emitter &emit, Value x, int64_t dim, const Running &running) {
  Shape all(shapeOf(x)), dims;
  all.insert(all.begin() + dim, all[dim]); // the place, and behind it what it combines
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

// In blocks, and the blocks: n^1.5 work.
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
  int64_t size = shapeOf(x)[*dim], width = int64_t(std::ceil(std::sqrt(double(size))));
  if (isEmpty(x))
    return op.result(x);
  if (size <= 64)
    return op.result(combineBefore(op.emit, x, *dim, running));
  Shape none(rankOf(x), 0), high = none;
  high[*dim] = (size + width - 1) / width * width - size;
  Value padded = op.emit.pad(x, none, high, running.neutral);
  Shape blocks(shapeOf(padded));
  blocks[*dim] /= width;
  blocks.insert(blocks.begin() + *dim + 1, width);
  Value split = op.emit.reshape(padded, blocks);
  Value totals = op.emit.reduce(kind, split, {*dim + 1}, /*keepDims=*/true);
  Running before = running;
  before.exclusive = true;
  Value all = combine(op.emit, running, combineBefore(op.emit, split, *dim + 1, running),
                      combineBefore(op.emit, totals, *dim, before));
  return op.result(op.emit.sliceDim(op.emit.reshape(all, shapeOf(padded)), *dim, 0, size));
}

} // namespace

void cleave::onnx_import::addCumulativeOperators(OperatorTable &table) {
  table.add("CumSum", 13, inF32<importCumulative<ReduceKind::Sum>>);
  table.add("CumProd", 26, inF32<importCumulative<ReduceKind::Product>>);
}
