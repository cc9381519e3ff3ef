#include "dialects/Cleave/Transforms/ReferenceBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::Value;
using mlir::ValueRange;
using Values = llvm::SmallVector<Value>;

bool KernelParams::has(llvm::StringRef name) const {
  return llvm::any_of(spec.params, [&](const auto &param) { return param.first == name; });
}

ArrayRef<int64_t> KernelParams::list(llvm::StringRef name) const {
  for (auto &[param, values] : spec.params)
    if (param == name)
      return values;
  llvm::report_fatal_error("kernel '" + llvm::Twine(spec.name) + "' is specified without '" + name + "'");
}

// c[b, m, n] += a[b, m, k] * b[b, k, n], to the values of `init`.
static Value addProduct(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, Value init) {
  int64_t batch = p["batch"], m = p["m"], n = p["n"], k = p["k"];
  auto at = [&](llvm::StringRef batches, Value b, Value row, int64_t rows, Value column, int64_t columns, bool swap) {
    Value slab = p[batches] == 1 ? nest.constant(0) : b;
    return swap ? nest.linear({slab, column, row}, {p[batches], columns, rows})
                : nest.linear({slab, row, column}, {p[batches], rows, columns});
  };
  return nest.loop({batch, m, n, k}, init, [&](ValueRange i, ValueRange carried) -> Values {
    Value a = nest.load(in[0], at("batch_a", i[0], i[1], m, i[3], k, p["transpose_a"]));
    Value b = nest.load(in[1], at("batch_b", i[0], i[3], k, i[2], n, p["transpose_b"]));
    return {nest.addAt(carried[0], nest.linear({i[0], i[1], i[2]}, {batch, m, n}), nest.times(a, b))};
  })[0];
}

static Value matmul(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  return addProduct(nest, p, in, nest.filled(p["batch"] * p["m"] * p["n"], nest.number(element, 0.0)));
}
// Does the same, beginning with bias[n].
static Value matmulBias(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  int64_t rows = p["batch"] * p["m"], n = p["n"];
  Value zeros = nest.filled(rows * n, nest.number(element, 0.0));
  Value biases = nest.loop({rows, n}, zeros, [&](ValueRange i, ValueRange carried) -> Values {
    return {nest.store(nest.load(in[2], i[1]), carried[0], nest.linear({i[0], i[1]}, {rows, n}))};
  })[0];
  return addProduct(nest, p, in, biases);
}

// The loops of indexing kernels: batch, outer, indices, inner; and the positions that they read in tables, indices and
// slices.
namespace {
struct IndexLoops {
  IndexLoops(const KernelParams &p, int64_t batch)
      : batch(batch), outer(p["outer"]), rows(p["rows"]), inner(p["inner"]), indices(p["indices"]) {}

  llvm::SmallVector<int64_t> sizes() const { return {batch, outer, indices, inner}; }
  int64_t slices() const { return batch * outer * indices * inner; }
  Value slice(LoopWriter &nest, ValueRange i) const { return nest.linear({i[0], i[1], i[2], i[3]}, sizes()); }
  // Returns the position in the table. Negative indices count from the end.
  Value element(LoopWriter &nest, Value index, ValueRange i) const {
    auto &builder = nest.getBuilder();
    Value row = nest.load(index, nest.linear({i[0], i[2]}, {batch, indices}));
    row = mlir::arith::IndexCastOp::create(builder, builder.getIndexType(), row);
    Value negative = mlir::arith::CmpIOp::create(builder, mlir::arith::CmpIPredicate::slt, row, nest.constant(0));
    row = mlir::arith::SelectOp::create(builder, negative, nest.add(row, rows), row);
    return nest.linear({i[0], i[1], row, i[3]}, {batch, outer, rows, inner});
  }

  int64_t batch, outer, rows, inner, indices;
};
} // namespace

// y[b, o, i, r] = x[b, o, index[b, i], r]
static Value gather(LoopWriter &nest, const IndexLoops &loops, ArrayRef<Value> in, mlir::Type element) {
  Value init = nest.filled(loops.slices(), nest.number(element, 0.0));
  return nest.loop(loops.sizes(), init, [&](ValueRange i, ValueRange carried) -> Values {
    return {nest.store(nest.load(in[0], loops.element(nest, in[1], i)), carried[0], loops.slice(nest, i))};
  })[0];
}
static Value take(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  return gather(nest, IndexLoops(p, 1), in, element);
}
static Value pick(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  return gather(nest, IndexLoops(p, p["batch"]), in, element);
}

// y = x; y[b, o, index[b, i], r] = combine(y, update[b, o, i, r]). In half precision every step rounds, as in the
// kernel.
static Value scatter(LoopWriter &nest, const IndexLoops &loops, ArrayRef<Value> in, int64_t combine) {
  auto combined = [&](Value old, Value update) -> Value {
    if (combine < 0)
      return update;
    if (combine == 0)
      return nest.plus(old, update);
    if (combine == 3)
      return nest.times(old, update);
    Value wins = combine == 1 ? nest.greater(update, old) : nest.greater(old, update);
    return mlir::arith::SelectOp::create(nest.getBuilder(), wins, update, old);
  };
  return nest.loop(loops.sizes(), in[0], [&](ValueRange i, ValueRange carried) -> Values {
    Value at = loops.element(nest, in[1], i), update = nest.load(in[2], loops.slice(nest, i));
    return {nest.store(combined(nest.load(carried[0], at), update), carried[0], at)};
  })[0];
}
static Value putAdd(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type) {
  return scatter(nest, IndexLoops(p, 1), in, 0);
}
static Value put(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type) {
  return scatter(nest, IndexLoops(p, p["batch"]), in, p["combine"]);
}

// y = x: the reference does not check indices.
static Value checkIndex(LoopWriter &, const KernelParams &, ArrayRef<Value> in, mlir::Type) { return in[0]; }

// y[o, c] = the index of the element of x[o, :] before which c others come: larger ones (or smaller), and equal ones to
// its left
static Value topK(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  int64_t outer = p["outer"], extent = p["extent"], count = p["count"];
  auto &builder = nest.getBuilder();
  auto orOf = [&](Value a, Value b) -> Value { return mlir::arith::OrIOp::create(builder, a, b); };
  auto less = [&](Value a, Value b) -> Value {
    return mlir::arith::CmpIOp::create(builder, mlir::arith::CmpIPredicate::slt, a, b);
  };
  Value init = nest.filled(outer * count, nest.number(element, 0.0));
  return nest.loop({outer, extent}, init, [&](ValueRange i, ValueRange carried) -> Values {
    auto at = [&](Value e) { return nest.load(in[0], nest.linear({i[0], e}, {outer, extent})); };
    Value own = at(i[1]);
    Value place = nest.loop({extent}, nest.constant(0), [&](ValueRange e, ValueRange before) -> Values {
      Value other = at(e[0]);
      Value better = p["smallest"] ? nest.greater(own, other) : nest.greater(other, own);
      Value worse = p["smallest"] ? nest.greater(other, own) : nest.greater(own, other);
      Value isTie = nest.both(less(e[0], i[1]), mlir::arith::XOrIOp::create(builder, orOf(better, worse), nest.isTrue()));
      return nest.onlyIf(orOf(better, isTie), before, [&]() -> Values { return {nest.add(before[0], 1)}; });
    })[0];
    return nest.onlyIf(less(place, nest.constant(count)), carried, [&]() -> Values {
      Value index = mlir::arith::IndexCastOp::create(builder, element, i[1]);
      return {nest.store(index, carried[0], nest.linear({i[0], place}, {outer, count}))};
    });
  })[0];
}

// y[o, r] = first e with the largest x[o, e, r]
static Value argmax(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  int64_t outer = p["outer"], extent = p["extent"], inner = p["inner"];
  auto &builder = nest.getBuilder();
  Value init = nest.filled(outer * inner, nest.number(element, 0.0));
  return nest.loop({outer, inner}, init, [&](ValueRange i, ValueRange carried) -> Values {
    auto at = [&](Value e) { return nest.load(in[0], nest.linear({i[0], e, i[1]}, {outer, extent, inner})); };
    Values best = {at(nest.constant(0)), nest.constant(0)};
    best = nest.loop({extent}, best, [&](ValueRange e, ValueRange seen) -> Values {
      Value value = at(e[0]);
      return nest.onlyIf(nest.greater(value, seen[0]), seen, [&]() -> Values { return {value, e[0]}; });
    });
    Value index = mlir::arith::IndexCastOp::create(builder, element, best[1]);
    return {nest.store(index, carried[0], nest.linear({i[0], i[1]}, {outer, inner}))};
  })[0];
}

ReferenceBody cleave::findReferenceBody(llvm::StringRef kernel) {
  return llvm::StringSwitch<ReferenceBody>(kernel)
      .Case("matmul", matmul)
      .Case("matmul_bias", matmulBias)
      .Case("take", take)
      .Case("pick", pick)
      .Case("put_add", putAdd)
      .Case("put", put)
      .Case("check_index", checkIndex)
      .Case("top_k", topK)
      .Case("argmax", argmax)
      .Default(findWindowBody(kernel));
}
