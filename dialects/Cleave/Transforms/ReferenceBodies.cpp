#include "dialects/Cleave/Transforms/ReferenceBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::Value;
using mlir::ValueRange;
using Values = llvm::SmallVector<Value>;

ArrayRef<int64_t> KernelParams::list(llvm::StringRef name) const {
  for (auto &[param, values] : spec.params)
    if (param == name)
      return values;
  llvm::report_fatal_error("kernel '" + llvm::Twine(spec.name) + "' is specified without '" + name + "'");
}

// c[b, m, n] += a[b, m, k] * b[b, k, n]
static Value matmul(LoopNest &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  int64_t batch = p["batch"], m = p["m"], n = p["n"], k = p["k"];
  auto at = [&](llvm::StringRef batches, Value b, Value row, int64_t rows, Value column, int64_t columns, bool swap) {
    Value slab = p[batches] == 1 ? nest.constant(0) : b;
    return swap ? nest.linear({slab, column, row}, {p[batches], columns, rows})
                : nest.linear({slab, row, column}, {p[batches], rows, columns});
  };
  Value zeros = nest.filled(batch * m * n, nest.number(element, 0.0));
  return nest.loop({batch, m, n, k}, zeros, [&](ValueRange i, ValueRange carried) -> Values {
    Value a = nest.load(in[0], at("batch_a", i[0], i[1], m, i[3], k, p["transpose_a"]));
    Value b = nest.load(in[1], at("batch_b", i[0], i[3], k, i[2], n, p["transpose_b"]));
    return {nest.addAt(carried[0], nest.linear({i[0], i[1], i[2]}, {batch, m, n}), nest.times(a, b))};
  })[0];
}

// An index tensor's element as a row number; negative ones count from the end.
static Value rowAt(LoopNest &nest, mlir::ImplicitLocOpBuilder &builder, Value indices, Value i, int64_t rows) {
  Value index = mlir::arith::IndexCastOp::create(builder, builder.getIndexType(), nest.load(indices, i));
  Value negative = mlir::arith::CmpIOp::create(builder, mlir::arith::CmpIPredicate::slt, index, nest.constant(0));
  return mlir::arith::SelectOp::create(builder, negative, nest.add(index, rows), index);
}

// y[o, i, r] = x[o, index[i], r]
static Value take(LoopNest &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  int64_t outer = p["outer"], rows = p["rows"], inner = p["inner"], indices = p["indices"];
  Value init = nest.filled(outer * indices * inner, nest.number(element, 0.0));
  return nest.loop({outer, indices, inner}, init, [&](ValueRange i, ValueRange carried) -> Values {
    Value row = rowAt(nest, nest.getBuilder(), in[1], i[1], rows);
    Value value = nest.load(in[0], nest.linear({i[0], row, i[2]}, {outer, rows, inner}));
    return {nest.store(value, carried[0], nest.linear({i[0], i[1], i[2]}, {outer, indices, inner}))};
  })[0];
}

// y = x; y[o, index[i], r] += update[o, i, r]. In half precision every addition rounds, as in the kernel.
static Value putAdd(LoopNest &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type) {
  int64_t outer = p["outer"], rows = p["rows"], inner = p["inner"], indices = p["indices"];
  return nest.loop({outer, indices, inner}, in[0], [&](ValueRange i, ValueRange carried) -> Values {
    Value row = rowAt(nest, nest.getBuilder(), in[1], i[1], rows);
    Value update = nest.load(in[2], nest.linear({i[0], i[1], i[2]}, {outer, indices, inner}));
    return {nest.addAt(carried[0], nest.linear({i[0], row, i[2]}, {outer, rows, inner}), update)};
  })[0];
}

// y[o, r] = first e with the largest x[o, e, r]
static Value argmax(LoopNest &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
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
      .Case("take", take)
      .Case("put_add", putAdd)
      .Case("argmax", argmax)
      .Default(findWindowBody(kernel));
}
