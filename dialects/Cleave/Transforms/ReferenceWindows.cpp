// Convolutions and pools. All are one walk over their taps: every pair of an output and a window position that is on an
// input.
#include "dialects/Cleave/Transforms/ReferenceBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace cleave;
using llvm::ArrayRef;
using mlir::Value;
using mlir::ValueRange;
using Values = llvm::SmallVector<Value>;

namespace {
struct Geometry {
  explicit Geometry(const KernelParams &p)
      : in(p.list("in")), out(p.list("out")), kernel(p.list("kernel")), stride(p.list("stride")),
        dilation(p.list("dilation")), padLow(p.list("pad_low")) {}
  ArrayRef<int64_t> in, out, kernel, stride, dilation, padLow;
};

// The input that output `o` reads through window position `w`, and whether it exists or is padding.
struct Tap {
  Values input;
  Value inside;
};
} // namespace

static Tap tapOf(LoopWriter &nest, const Geometry &g, ValueRange o, ValueRange w) {
  Tap tap = {{}, nest.isTrue()};
  for (size_t d = 0; d < g.in.size(); ++d) {
    Value start = nest.add(nest.scale(o[d], g.stride[d]), -g.padLow[d]);
    tap.input.push_back(nest.add(start, nest.scale(w[d], g.dilation[d])));
    tap.inside = nest.both(tap.inside, nest.inRange(tap.input.back(), g.in[d]));
  }
  return tap;
}

template <typename... Lists>
static llvm::SmallVector<int64_t> sizes(std::initializer_list<int64_t> first, Lists... rest) {
  llvm::SmallVector<int64_t> all(first);
  (llvm::append_range(all, rest), ...);
  return all;
}
static int64_t count(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}
static Values indices(std::initializer_list<Value> first, ValueRange rest) {
  Values all(first);
  llvm::append_range(all, rest);
  return all;
}

static bool isChannelsLast(const KernelParams &p) { return p.has("channels_last") && p["channels_last"] != 0; }

// Returns the position of element (n, c, at...) of a tensor, whose sizes are given as those of [n, c, space...].
static Value placeOf(LoopWriter &nest, Value n, Value c, ValueRange at, ArrayRef<int64_t> sizes, bool channelsLast) {
  if (!channelsLast)
    return nest.linear(indices({n, c}, at), sizes);
  Values index = indices({n}, at);
  index.push_back(c);
  llvm::SmallVector<int64_t> moved = {sizes[0]};
  llvm::append_range(moved, sizes.drop_front(2));
  moved.push_back(sizes[1]);
  return nest.linear(index, moved);
}

//===----------------------------------------------------------------------===//
// Convolutions: y[yi] += x[xi] * w[wi] over all taps; a gradient moves the += to its own tensor.
//===----------------------------------------------------------------------===//

namespace {
enum Tensor { X, W, Y };
} // namespace

// Sums one of the three tensors, `made`, from `a` and `b`, the other two in the order x, w, y.
static Value convolve(LoopWriter &nest, const KernelParams &p, Tensor made, Value a, Value b, mlir::Type element,
                      bool channelsLast = false) {
  Geometry g(p);
  int64_t n = p["n"], ic = p["ic"], oc = p["oc"], groups = p["groups"];
  int64_t groupIn = ic / groups, groupOut = oc / groups;
  llvm::SmallVector<int64_t> shapes[] = {sizes({n, ic}, g.in), sizes({oc, groupIn}, g.kernel), sizes({n, oc}, g.out)};
  Value zeros = nest.filled(count(shapes[made]), nest.number(element, 0.0));
  size_t rank = g.in.size();
  auto loops = sizes({n, groups, groupOut}, g.out, ArrayRef<int64_t>(groupIn), g.kernel);
  return nest.loop(loops, zeros, [&](ValueRange i, ValueRange carried) -> Values {
    ValueRange o = i.slice(3, rank), w = i.drop_front(4 + rank);
    Value inGroup = i[3 + rank];
    Tap tap = tapOf(nest, g, o, w);
    return nest.onlyIf(tap.inside, carried, [&]() -> Values {
      Value outChannel = nest.add(nest.scale(i[1], groupOut), i[2]);
      Value inChannel = nest.add(nest.scale(i[1], groupIn), inGroup);
      Value at[] = {placeOf(nest, i[0], inChannel, tap.input, shapes[X], channelsLast),
                    nest.linear(indices({outChannel, inGroup}, w), shapes[W]),
                    placeOf(nest, i[0], outChannel, o, shapes[Y], channelsLast)};
      Value first = nest.load(a, at[made == X ? W : X]), second = nest.load(b, at[made == Y ? W : Y]);
      return {nest.addAt(carried[0], at[made], nest.times(first, second))};
    });
  })[0];
}

static Value convolution(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  return convolve(nest, p, Y, in[0], in[1], element, isChannelsLast(p));
}
// operands are x, w, bias; channels are last
static Value convolutionBias(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  int64_t oc = p["oc"], rows = p["n"] * count(p.list("out"));
  Value sums = convolve(nest, p, Y, in[0], in[1], element, /*channelsLast=*/true);
  return nest.loop({rows, oc}, sums, [&](ValueRange i, ValueRange carried) -> Values {
    return {nest.addAt(carried[0], nest.linear(Values(i), {rows, oc}), nest.load(in[2], i[1]))};
  })[0];
}
static Value inputGrad(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  return convolve(nest, p, X, in[1], in[0], element); // operands are dy, w
}
static Value weightGrad(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  return convolve(nest, p, W, in[0], in[1], element);
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

namespace {
struct Pool : Geometry {
  explicit Pool(const KernelParams &p, bool channelsLast = false)
      : Geometry(p), n(p["n"]), c(p["c"]), channelsLast(channelsLast) {}
  int64_t n, c;
  bool channelsLast;
  llvm::SmallVector<int64_t> x() const { return sizes({n, c}, in); }
  llvm::SmallVector<int64_t> y() const { return sizes({n, c}, out); }
};
} // namespace

using TapBody = llvm::function_ref<Values(ValueRange w, Value inputIndex, ValueRange carried)>;

// carried = body(w, position in x, carried) for every tap of the output `i` = (n, c, out...).
static Values forTaps(LoopWriter &nest, const Pool &pool, ValueRange i, ValueRange initial, TapBody body) {
  return nest.loop(pool.kernel, initial, [&](ValueRange w, ValueRange carried) -> Values {
    Tap tap = tapOf(nest, pool, i.drop_front(2), w);
    return nest.onlyIf(tap.inside, carried, [&]() -> Values {
      return body(w, placeOf(nest, i[0], i[1], tap.input, pool.x(), pool.channelsLast), carried);
    });
  });
}

static Value maxPool(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  Pool pool(p, isChannelsLast(p));
  Value lowest = nest.number(element, -std::numeric_limits<double>::infinity());
  return nest.loop(pool.y(), nest.filled(count(pool.y()), lowest), [&](ValueRange i, ValueRange y) -> Values {
    Values max = forTaps(nest, pool, i, lowest, [&](ValueRange, Value x, ValueRange seen) -> Values {
      return {nest.larger(nest.load(in[0], x), seen[0])};
    });
    return {nest.store(max[0], y[0], placeOf(nest, i[0], i[1], i.drop_front(2), pool.y(), pool.channelsLast))};
  })[0];
}

// dx at the first maximum of each window += dy. A negative position means that no tap was seen yet.
static Value maxPoolGrad(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  Pool pool(p);
  auto &builder = nest.getBuilder();
  Value zero = nest.number(element, 0.0);
  return nest.loop(pool.y(), nest.filled(count(pool.x()), zero), [&](ValueRange i, ValueRange dx) -> Values {
    Values start = {nest.number(element, 0.0), nest.constant(-1)};
    Values best = forTaps(nest, pool, i, start, [&](ValueRange, Value x, ValueRange seen) -> Values {
      Value value = nest.load(in[0], x);
      Value none = mlir::arith::CmpIOp::create(builder, mlir::arith::CmpIPredicate::slt, seen[1], nest.constant(0));
      Value better = mlir::arith::OrIOp::create(builder, none, nest.greater(value, seen[0]));
      return nest.onlyIf(better, seen, [&]() -> Values { return {value, x}; });
    });
    // A dilated window may be completely in the padding.
    return nest.onlyIf(nest.inRange(best[1], count(pool.x())), dx, [&]() -> Values {
      return {nest.addAt(dx[0], best[1], nest.load(in[1], nest.linear(Values(i), pool.y())))};
    });
  })[0];
}

// Returns one over the number of elements in the window of output `i`.
static Value meanFactor(LoopWriter &nest, const KernelParams &p, const Pool &pool, ValueRange i, mlir::Type element) {
  Value one = nest.number(element, 1.0), size = nest.number(element, count(pool.kernel));
  if (!p["count_pad"])
    size = forTaps(nest, pool, i, nest.number(element, 0.0),
                   [&](ValueRange, Value, ValueRange seen) -> Values { return {nest.plus(seen[0], one)}; })[0];
  return mlir::arith::DivFOp::create(nest.getBuilder(), one, size);
}

static Value avgPool(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  Pool pool(p, isChannelsLast(p));
  Value zero = nest.number(element, 0.0);
  return nest.loop(pool.y(), nest.filled(count(pool.y()), zero), [&](ValueRange i, ValueRange y) -> Values {
    Values sum = forTaps(nest, pool, i, zero, [&](ValueRange, Value x, ValueRange seen) -> Values {
      return {nest.plus(seen[0], nest.load(in[0], x))};
    });
    Value mean = nest.times(sum[0], meanFactor(nest, p, pool, i, element));
    return {nest.store(mean, y[0], placeOf(nest, i[0], i[1], i.drop_front(2), pool.y(), pool.channelsLast))};
  })[0];
}

static Value avgPoolGrad(LoopWriter &nest, const KernelParams &p, ArrayRef<Value> in, mlir::Type element) {
  Pool pool(p);
  Value zero = nest.number(element, 0.0);
  return nest.loop(pool.y(), nest.filled(count(pool.x()), zero), [&](ValueRange i, ValueRange dx) -> Values {
    Value dy = nest.load(in[0], nest.linear(Values(i), pool.y()));
    Value share = nest.times(dy, meanFactor(nest, p, pool, i, element));
    return forTaps(nest, pool, i, dx,
                   [&](ValueRange, Value x, ValueRange seen) -> Values { return {nest.addAt(seen[0], x, share)}; });
  })[0];
}

ReferenceBody cleave::findWindowBody(llvm::StringRef kernel) {
  return llvm::StringSwitch<ReferenceBody>(kernel)
      .Case("convolution", convolution)
      .Case("convolution_bias", convolutionBias)
      .Case("convolution_input_grad", inputGrad)
      .Case("convolution_weight_grad", weightGrad)
      .Case("max_pool", maxPool)
      .Case("max_pool_grad", maxPoolGrad)
      .Case("avg_pool", avgPool)
      .Case("avg_pool_grad", avgPoolGrad)
      .Default(nullptr);
}
