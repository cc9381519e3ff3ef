// Imports Attention (opset 23) and RotaryEmbedding. Attention is the scaled dot product of heads, with masks, grouped
// key-value heads and a key-value cache.
#include "compiler/Import/ONNX/Operators/Contraction.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Stacking.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

// [batch, length, heads * size] -> [batch, heads, length, size]
FailureOr<Value> splitHeads(OpContext &op, Value x, int64_t heads) {
  llvm::ArrayRef<int64_t> shape = shapeOf(x);
  if (heads < 1 || shape[2] % heads != 0)
    return op.fail("q_num_heads and kv_num_heads must divide the width of inputs of rank 3; got " + llvm::Twine(heads) +
                   " heads for " + formatShape(shape));
  Value split = op.emit.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return op.emit.transpose(split, {0, 2, 1, 3});
}

Value mergeHeads(Emitter &emit, Value x) {
  Value merged = emit.transpose(x, {0, 2, 1, 3});
  Shape shape(shapeOf(merged));
  return emit.reshape(merged, {shape[0], shape[1], shape[2] * shape[3]});
}

// Returns [batch, heads, ...] with every head repeated `times` times.
Value repeatHeads(Emitter &emit, Value x, int64_t times) {
  if (times == 1)
    return x;
  Shape s(shapeOf(x));
  Value spread = emit.broadcastDims(x, {s[0], s[1], times, s[2], s[3]}, {0, 1, 3, 4});
  return emit.reshape(spread, {s[0], s[1] * times, s[2], s[3]});
}

// Puts the cached keys (or values) before the new ones. The result is an output of the operator, too.
FailureOr<Value> appendPast(OpContext &op, Value x, size_t input, size_t output) {
  if (op.has(input)) {
    Value past = op.value(input);
    if (rankOf(past) != 4 || elementOf(past) != elementOf(x) ||
        reducedShape(shapeOf(past), {2}, true) != reducedShape(shapeOf(x), {2}, true))
      return op.fail("the cache of shape " + formatShape(shapeOf(past)) + " does not go before " +
                     formatShape(shapeOf(x)));
    x = op.emit.concat({past, x}, 2);
  }
  if (op.wants(output) && failed(op.result(output, x)))
    return failure();
  return x;
}

// The keys that a query sees because of its position p = offset + its index: those from p - left to p + right. A causal
// mask is right = 0. The offset is the number of keys in the cache, `past`. If the keys are a buffer of which a sample
// fills the first `lengths` [batch, 1, 1, 1], its queries are the last of these.
struct Window {
  int64_t queries, keys, past = 0;
  std::optional<int64_t> left, right;
  Value lengths;

  bool isWhole() const { return !left && !right && !lengths; }
};

FailureOr<Window> readWindow(OpContext &op, Value scores, int64_t past) {
  Window window{shapeOf(scores)[2], shapeOf(scores)[3], past, {}, {}, {}};
  for (auto [name, bound] : {std::pair("left_window_size", &window.left), {"right_window_size", &window.right}}) {
    int64_t size = op.intAttr(name, -1);
    if (size < -1)
      return op.fail(llvm::Twine("`") + name + "` must be -1, for none, or a number of 0 or more; got " +
                     llvm::Twine(size));
    if (size >= 0 && size < window.queries + window.keys) // a larger window hides nothing
      *bound = size;
  }
  if (op.intAttr("is_causal", 0) != 0)
    window.right = 0;
  if (!op.has(6))
    return window;
  int64_t batch = shapeOf(scores)[0];
  if (shapeOf(op.value(6)) != llvm::ArrayRef<int64_t>(batch))
    return op.fail("`nonpad_kv_seqlen` must have the shape " + formatShape({batch}) + "; got " +
                   formatShape(shapeOf(op.value(6))));
  if (const Literal *known = op.literal(6))
    for (int64_t i = 0; i < known->numElements(); ++i)
      if (known->asInt(i) < 0 || known->asInt(i) > window.keys)
        return op.fail("`nonpad_kv_seqlen` holds " + llvm::Twine(known->asInt(i)) + "; expected 0 to " +
                       llvm::Twine(window.keys));
  Value lengths = checkLabels(op.emit, op.value(6), window.keys + 1, std::nullopt);
  window.lengths = op.emit.reshape(lengths, {batch, 1, 1, 1});
  return window;
}

// Compares each key with p + shift. The result is [queries, keys], or [batch, 1, queries, keys].
Value compareKeys(Emitter &emit, const Window &window, Predicate predicate, int64_t shift) {
  auto square = RankedTensorType::get({window.queries, window.keys}, emit.i64());
  shift += window.lengths ? -window.queries : window.past;
  Value bound = emit.iota(0, square);
  bound = shift == 0 ? bound : emit.add(bound, double(shift));
  bound = window.lengths ? emit.add(window.lengths, bound) : bound;
  return emit.compare(predicate, emit.iota(1, square), bound);
}

// The conditions on keys that the parts of the window make.
struct Bounds {
  Value right, left, filled; // null: no condition
};

Bounds boundsOf(Emitter &emit, const Window &window) {
  Bounds bounds;
  if (window.right)
    bounds.right = compareKeys(emit, window, Predicate::Le, *window.right);
  if (window.left)
    bounds.left = compareKeys(emit, window, Predicate::Ge, -*window.left);
  if (window.lengths) {
    auto square = RankedTensorType::get({window.queries, window.keys}, emit.i64());
    bounds.filled = emit.compare(Predicate::Lt, emit.iota(1, square), window.lengths);
  }
  return bounds;
}

// Since this opset, a mask may have fewer columns than there are keys, and hides the keys beyond them.
constexpr int64_t kPadsMasks = 24;

// True if the window and a known mask leave a key to each query. For a row of the mask, next[i] is the first key from i
// on that the mask does not hide. If `isRepeated`, a mask of one column is for all keys; otherwise the keys beyond its
// columns are hidden.
bool leavesKeys(const Literal *mask, bool isRepeated, const Window &window) {
  int64_t columns = mask && mask->rank() > 0 ? mask->shape().back() : 1,
          queries = mask && mask->rank() > 1 ? mask->shape().end()[-2] : 1;
  auto isHidden = [&](int64_t i) {
    return mask && (mask->isFloat() ? mask->asReal(i) == -INFINITY : mask->asInt(i) == 0);
  };
  auto low = [&](int64_t query) { return window.left ? std::max<int64_t>(0, window.past + query - *window.left) : 0; };
  auto high = [&](int64_t query) {
    return window.right ? std::min(window.keys - 1, window.past + query + *window.right) : window.keys - 1;
  };
  std::vector<int64_t> next(size_t(columns) + 1, window.keys);
  for (int64_t row = 0; row < (mask && columns > 0 ? mask->numElements() / columns : 1); ++row) {
    for (int64_t key = columns; key-- > 0;)
      next[key] = isHidden(row * columns + key) ? next[key + 1] : key;
    auto seesKey = [&](int64_t query) {
      int64_t from = low(query);
      if (isRepeated && columns == 1)
        return next[0] == 0 && from <= high(query);
      return from < columns && next[from] <= high(query);
    };
    int64_t first = queries > 1 ? row % queries : 0, count = queries > 1 ? 1 : window.queries;
    for (int64_t query = first; query < first + count; ++query)
      if (!seesKey(query))
        return false;
  }
  return true;
}

// The scores under the mask and the window, and the queries from which these hide all keys, [..., queries or 1, 1]
// (null if there are none). Such queries see some keys instead, because the softmax of a row without keys is NaN, and
// so are its gradients. The standard wants zeros for them, which importAttention() puts in their place.
struct Masked {
  Value scores, hidden;
};

Value findHidden(Emitter &emit, Value mask, const Bounds &bounds) {
  Value visible = mask && isFloat(mask) ? emit.compare(Predicate::Ne, mask, -INFINITY) : mask;
  for (Value bound : {bounds.right, bounds.left, bounds.filled})
    if (bound)
      visible = visible ? emit.binary<AndOp>(visible, bound) : bound;
  if (rankOf(visible) == 0)
    visible = emit.reshape(visible, {1});
  Value count = emit.reduce(ReduceKind::Max, emit.cast(visible, emit.builder.getI32Type()), {rankOf(visible) - 1},
                            /*keepDims=*/true);
  return emit.compare(Predicate::Eq, count, 0.0);
}

// Returns the mask of input 3, extended to the scores' last dimension, or null if there is none.
FailureOr<Value> readMask(OpContext &op, Value scores) {
  if (!op.has(3))
    return Value();
  Value mask = op.value(3);
  // Since opset 24, a mask may end before the last keys, which are then hidden. Before, one column counted for all
  // keys.
  int64_t missing = shapeOf(scores)[3] - (rankOf(mask) > 0 ? shapeOf(mask).back() : shapeOf(scores)[3]);
  if (op.opset() >= kPadsMasks && missing > 0) {
    Shape none(rankOf(mask), 0), high = none;
    high.back() = missing;
    mask = op.emit.pad(mask, none, high, isFloat(mask) ? -INFINITY : 0);
  }
  if (broadcastShapes(shapeOf(scores), shapeOf(mask)) != Shape(shapeOf(scores)))
    return op.fail("the mask of shape " + formatShape(shapeOf(mask)) + " does not broadcast to the scores " +
                   formatShape(shapeOf(scores)));
  if (!elementOf(mask).isInteger(1) && elementOf(mask) != elementOf(scores))
    return op.fail("the mask must be boolean or of the queries' type");
  return mask;
}

FailureOr<Masked> applyMasks(OpContext &op, Value scores, const Window &window) {
  auto mask = readMask(op, scores);
  if (failed(mask))
    return failure();
  if (!*mask && window.isWhole())
    return Masked{scores, {}};
  Emitter &emit = op.emit;
  // If readMask() has extended a mask, the literal still has the columns of before. leavesKeys() treats the others as
  // hidden.
  bool isSafe = !window.lengths && (!op.has(3) || op.literal(3)) &&
                leavesKeys(op.literal(3), !op.has(3) || op.opset() < kPadsMasks, window);
  Bounds bounds = boundsOf(emit, window);
  Value hidden = isSafe ? Value() : findHidden(emit, *mask, bounds);
  auto keep = [&](Value condition, bool mayHideAll) {
    if (hidden && mayHideAll)
      condition = emit.binary<OrOp>(condition, hidden);
    scores = emit.select(condition, scores, emit.splat(-INFINITY, typeOf(scores)));
  };
  if (*mask && !isFloat(*mask)) {
    keep(*mask, true);
  } else if (*mask) {
    auto scalar = RankedTensorType::get({}, elementOf(*mask));
    scores = emit.add(scores, hidden ? emit.select(hidden, emit.splat(0, scalar), *mask) : *mask);
  }
  if (bounds.filled)
    keep(bounds.filled, true);
  if (bounds.left)
    keep(bounds.left, true);
  if (bounds.right) // alone it leaves the first key, except if a sample has fewer keys than queries
    keep(bounds.right, bool(window.lengths));
  return Masked{scores, hidden};
}

LogicalResult checkOperands(OpContext &op, Value q, Value k, Value v) {
  llvm::ArrayRef<int64_t> x = shapeOf(q), y = shapeOf(k), z = shapeOf(v);
  bool fits =
      x[0] == y[0] && y[0] == z[0] && y[1] == z[1] && y[2] == z[2] && x[3] == y[3] && y[1] > 0 && x[1] % y[1] == 0;
  if (fits && elementOf(q) == elementOf(k) && elementOf(k) == elementOf(v))
    return success();
  return op.fail("queries " + formatShape(x) + ", keys " + formatShape(y) + " and values " + formatShape(z) +
                 " (batch, heads, length, size) do not fit together");
}

// Computes the softmax in `softmax_precision` if it is wider than the precision that Cleave computes in. Narrow types
// are computed in f32 anyway. Fused attention computes f32, so a softmax in f64 is not fused.
FailureOr<Value> emitProbabilities(OpContext &op, Value scores) {
  int64_t precision = op.intAttr("softmax_precision", 0);
  mlir::Type type = precision ? elementTypeOf(op.emit.context(), int(precision)) : elementOf(scores);
  if (!type || !llvm::isa<mlir::FloatType>(type))
    return op.fail("`softmax_precision` " + llvm::Twine(precision) + " is not a floating-point type");
  Value wide = type.isF64() ? op.emit.cast(scores, type) : scores;
  return op.emit.cast(op.emit.softmax(wide, 3), elementOf(scores));
}

LogicalResult importAttention(OpContext &op) {
  Emitter &emit = op.emit;
  Value q = op.value(0), k = op.value(1), v = op.value(2);
  bool merged = rankOf(q) == 3;
  if (failed(op.expectFloat(q)) || failed(op.expectRank(q, 3, 4)))
    return failure();
  if (rankOf(k) != rankOf(q) || rankOf(v) != rankOf(q))
    return op.fail("queries, keys and values must have the same rank; got shapes " + formatShape(shapeOf(q)) + ", " +
                   formatShape(shapeOf(k)) + " and " + formatShape(shapeOf(v)));
  if (op.wants(3))
    return op.fail("the output of the query-key product (`qk_matmul_output`) is not supported; leave it out");
  if (op.has(6) && (op.has(4) || op.has(5)))
    return op.fail("`nonpad_kv_seqlen` is for keys that are a cache themselves; it does not go with `past_key` and "
                   "`past_value`");
  if (merged) {
    int64_t kvHeads = op.intAttr("kv_num_heads", 0);
    for (auto [x, heads] : {std::pair(&q, op.intAttr("q_num_heads", 0)), {&k, kvHeads}, {&v, kvHeads}}) {
      auto split = splitHeads(op, *x, heads);
      if (failed(split))
        return failure(); // one message
      *x = *split;
    }
  }
  int64_t past = op.has(4) && rankOf(op.value(4)) == 4 ? shapeOf(op.value(4))[2] : 0;
  auto keys = appendPast(op, k, 4, 1), values = appendPast(op, v, 5, 2);
  if (failed(keys) || failed(values) || failed(checkOperands(op, q, *keys, *values)))
    return failure();
  int64_t times = shapeOf(q)[1] / shapeOf(*keys)[1];
  k = repeatHeads(emit, *keys, times), v = repeatHeads(emit, *values, times);

  // The queries are scaled before the product, because in half precision the product alone may exceed the type.
  double scale = op.floatAttr("scale", 1 / std::sqrt(double(shapeOf(q)[3]))), softcap = op.floatAttr("softcap", 0);
  Value scores = emit.matmul(emit.mul(q, scale), k, false, /*transposeB=*/true);
  if (softcap > 0)
    scores = emit.mul(emit.unary<TanhOp>(emit.div(scores, softcap)), softcap);
  auto window = readWindow(op, scores, past);
  auto masked = failed(window) ? FailureOr<Masked>(failure()) : applyMasks(op, scores, *window);
  if (failed(masked))
    return failure();
  auto probabilities = emitProbabilities(op, masked->scores);
  if (failed(probabilities))
    return failure();
  Value y = emit.matmul(*probabilities, v);
  if (masked->hidden)
    y = emit.select(masked->hidden, emit.splat(0, typeOf(y)), y);
  return op.result(merged ? mergeHeads(emit, y) : y);
}

// Returns every second number of the last dimension, starting with `first`, or half `first` of it.
Value halfOf(Emitter &emit, Value x, int64_t first, bool interleaved) {
  int64_t last = rankOf(x) - 1, half = shapeOf(x)[last] / 2;
  if (!interleaved)
    return emit.sliceDim(x, last, first * half, half);
  Shape starts(rankOf(x), 0), sizes(shapeOf(x)), steps(rankOf(x), 1);
  starts[last] = first, sizes[last] = half, steps[last] = 2;
  return emit.slice(x, starts, sizes, steps);
}

// Returns the cosines or sines of the angles, [batch, length, half]: as the node gives them, or at its positions.
FailureOr<Value> rotations(OpContext &op, size_t input, Shape expected) {
  Value table = op.value(input);
  if (op.has(3)) {
    Value positions = op.value(3);
    if (rankOf(table) != 2 || rankOf(positions) != 2)
      return op.fail("with `position_ids` [batch, length] the caches must have the shape [positions, " +
                     llvm::Twine(expected[2]) + "]; got " + formatShape(shapeOf(table)));
    noteIndices(positions, shapeOf(table)[0], /*refusesNegative=*/false);
    table = take(op.emit, table, positions, 0);
  }
  if (shapeOf(table) != llvm::ArrayRef<int64_t>(expected))
    return op.fail("the cosines and sines must have the shape " + formatShape(expected) + "; got " +
                   formatShape(shapeOf(table)));
  return table;
}

// Rotates pairs of numbers of each head by the angle of their position.
LogicalResult importRotaryEmbedding(OpContext &op) {
  Emitter &emit = op.emit;
  Value given = op.value(0), x = given;
  if (failed(op.expectRank(x, 3, 4)))
    return failure();
  if (rankOf(given) == 3) {
    auto heads = splitHeads(op, x, op.intAttr("num_heads", 0));
    if (failed(heads))
      return failure();
    x = *heads;
  }
  Shape shape(shapeOf(x)); // [batch, heads, length, size]
  int64_t turned = op.intAttr("rotary_embedding_dim", 0);
  turned = turned == 0 ? shape[3] : turned;
  if (turned < 2 || turned % 2 != 0 || turned > shape[3])
    return op.fail("`rotary_embedding_dim` must be even and at most the size of a head, " + llvm::Twine(shape[3]) +
                   "; got " + llvm::Twine(turned));
  Shape angles{shape[0], shape[2], turned / 2};
  auto cos = rotations(op, 1, angles), sin = rotations(op, 2, angles);
  if (failed(cos) || failed(sin))
    return failure();
  bool interleaved = op.intAttr("interleaved", 0) != 0;
  Value part = emit.sliceDim(x, 3, 0, turned), rest = emit.sliceDim(x, 3, turned, shape[3] - turned);
  Value a = halfOf(emit, part, 0, interleaved), b = halfOf(emit, part, 1, interleaved);
  Value c = emit.broadcastDims(*cos, shapeOf(a), {0, 2, 3}), s = emit.broadcastDims(*sin, shapeOf(a), {0, 2, 3});
  Value real = emit.sub(emit.mul(c, a), emit.mul(s, b)), imaginary = emit.add(emit.mul(s, a), emit.mul(c, b));
  if (interleaved)
    part = emit.reshape(emit.concat({unsqueeze(emit, real, 4), unsqueeze(emit, imaginary, 4)}, 4), shapeOf(part));
  else
    part = emit.concat({real, imaginary}, 3);
  Value y = turned == shape[3] ? part : emit.concat({part, rest}, 3);
  return op.result(rankOf(given) == 3 ? mergeHeads(emit, y) : y);
}

} // namespace

void cleave::onnx_import::addAttentionOperators(OperatorTable &table) {
  table.add("Attention", 23, importAttention);
  table.add("RotaryEmbedding", 23, inF32<importRotaryEmbedding>);
}
