// Imports DFT and STFT, as products with constant matrices of cosines and sines.
//
// A complex number is a pair in the last dimension, so n numbers are 2n reals. A transform of them is one product with
// a matrix [2n, 2k], of real numbers [n, 2k], and to real numbers [2n, k]. This takes 8 n k operations for each row. A
// fast transform takes 5 n log n, but a product takes less than a layer of that width. A long transform is computed in
// two rounds of short ones, n = n1 n2. With j = j1 n2 + j2 and k = k1 + n1 k2:
//
//   X[k] = sum over j2 of w^(j2 k) * sum over j1 of w1^(j1 k1) x[j]       w = exp(-2 pi i / n), w1 = exp(-2 pi i / n1)
//
// The inner sum is one product for all j2, and the outer one a product for each k1. They take 8 n (n1 + n2) operations,
// and constants of 4 n1^2 + 4 n n2 numbers. If these are too many, w^(j2 k) = w^(j2 k1) w2^(j2 k2) is multiplied in two
// parts: each inner result is multiplied by w^(j2 k1), 2 n numbers, and the rest is a transform of length n2. This one
// and the inner one may use rounds again. The gradient is that of the products. Rejected: an op for transforms. It
// would need a kernel for each device, and rules of sharding, which products have already.
#include "compiler/Import/ONNX/Operators/FourierOperators.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

constexpr int64_t kMaxElements = int64_t(1) << 22; // elements of a constant matrix

// A transform along the next to last dimension.
struct Transform {
  int64_t length; // n
  bool inverse;
  bool isScaled = true; // multiplies the result of an inverse by 1/n

  double sign() const { return inverse ? 1 : -1; }
  double scale() const { return inverse && isScaled ? 1 / double(length) : 1; }
};

// Cosines and sines of 2 pi i / n for all i. Angles are at most a whole turn, so that no digits are lost.
class Turn {
public:
  explicit Turn(int64_t length) : length(length) {}
  double cos(int64_t j, int64_t k) const { return std::cos(angle(j, k)); }
  double sin(int64_t j, int64_t k) const { return std::sin(angle(j, k)); }

private:
  double angle(int64_t j, int64_t k) const {
    return 2 * M_PI * double(int64_t(__int128(j) * k % length)) / double(length);
  }
  int64_t length;
};

// Returns the matrix element between (row, part) and (column, part). A part is real (0) or imaginary (1).
double rotation(double cos, double sin, int64_t from, int64_t to) { return from == to ? cos : from == 0 ? sin : -sin; }

class Fourier {
public:
  Fourier(OpContext &op, Value x, Transform transform) : op(op), emit(op.emit), x(x), t(transform) {}

  // Transforms [..., n, 1 or 2] to [..., count, 2]. Returns null after an error.
  Value complex(int64_t count) {
    int64_t parts = shapeOf(x).back(), given = std::min(shapeOf(x)[rankOf(x) - 2], t.length);
    double direct = double(given) * double(parts) * double(count) * 2;
    int64_t first = bestFactor();
    double rounds = 4 * double(t.length) * double(first + t.length / first) + 64 * double(t.length);
    if (first > 1 && (direct > double(kMaxElements) || direct > 4 * rounds))
      return emit.sliceDim(inRounds(first), rankOf(x) - 2, 0, count);
    if (direct > double(kMaxElements) && 2 * t.length <= kMaxElements && middleFactor() > 1) {
      Value all = inSeparateRounds(middleFactor());
      return all ? emit.sliceDim(all, rankOf(x) - 2, 0, count) : all;
    }
    if (direct > double(kMaxElements)) {
      (void)op.fail("a transform of " + llvm::Twine(t.length) +
                    " numbers needs too large a matrix; expected a length that is a product of smaller numbers");
      return {};
    }
    Turn turn(t.length);
    return product(x, given, count, 2, [&](int64_t j, int64_t from, int64_t k, int64_t to) {
      return t.scale() * rotation(turn.cos(j, k), t.sign() * turn.sin(j, k), from, to);
    });
  }

  // Transforms the bins of a real signal, [..., n/2 + 1, 2] -> [..., n, 1]. Each bin also stands for its conjugate,
  // except for the first one, and for the last one if n is even.
  Value real() {
    int64_t bins = t.length / 2 + 1, given = std::min(shapeOf(x)[rankOf(x) - 2], bins);
    auto weight = [&](int64_t k) { return k == 0 || 2 * k == t.length ? 1.0 : 2.0; };
    if (double(given) * 2 * double(t.length) <= double(kMaxElements)) {
      Turn turn(t.length);
      return product(x, given, t.length, 1, [&](int64_t k, int64_t from, int64_t j, int64_t to) {
        return weight(k) * t.scale() * rotation(turn.cos(j, k), t.sign() * turn.sin(j, k), from, to);
      });
    }
    Literal weights(elementOf(x), {given, 1});
    for (int64_t k = 0; k < given; ++k)
      weights.push(weight(k));
    x = emit.mul(emit.sliceDim(x, rankOf(x) - 2, 0, given), emit.literal(weights));
    Value whole = complex(t.length);
    return whole ? emit.sliceDim(whole, rankOf(whole) - 1, 0, 1) : whole;
  }

private:
  // Multiplies by a constant matrix: [..., rows or more, parts] -> [..., columns, to].
  template <typename Element> Value product(Value from, int64_t rows, int64_t columns, int64_t to, Element element) {
    int64_t rank = rankOf(from), parts = shapeOf(from).back();
    if (!emit.budget.draw(Budget::Kind::Work, uint64_t(rows * parts * columns * to)))
      return {};
    Literal matrix(elementOf(from), {rows * parts, columns * to});
    for (int64_t j = 0; j < rows * parts; ++j)
      for (int64_t k = 0; k < columns * to; ++k)
        matrix.push(element(j / parts, j % parts, k / to, k % to));
    Shape outer(shapeOf(from).take_front(rank - 2)), result = outer;
    outer.push_back(rows * parts);
    Value flat = emit.reshape(emit.sliceDim(from, rank - 2, 0, rows), outer);
    if (outer.size() == 1)
      flat = emit.reshape(flat, {1, outer[0]});
    result.append({columns, to});
    return emit.reshape(emit.matmul(flat, emit.literal(matrix)), result);
  }

  // Returns n1 of n = n1 n2: the cheapest one whose matrices are small enough, or 1 if there is none.
  int64_t bestFactor() const {
    int64_t best = 1;
    for (int64_t first = 2; first <= t.length / 2 && t.length <= kMaxElements; ++first) {
      int64_t second = t.length / first;
      bool fits = t.length % first == 0 && 4 * first * first <= kMaxElements && 4 * t.length * second <= kMaxElements;
      if (fits && (best == 1 || first + second < best + t.length / best))
        best = first;
    }
    return best;
  }

  // Returns n1 of n = n1 n2 that is closest to n2, or 1 if a prime factor of n is too long for a matrix.
  int64_t middleFactor() const {
    int64_t rest = t.length, middle = 1;
    for (int64_t prime = 2; 4 * prime * prime <= kMaxElements; ++prime)
      while (rest % prime == 0)
        rest /= prime;
    for (int64_t factor = 2; rest == 1 && factor * factor <= t.length; ++factor)
      if (t.length % factor == 0)
        middle = factor;
    return middle;
  }

  // Computes all n results by transforms of length n1 and of length n2. In the comments, r is the number of rows.
  Value inSeparateRounds(int64_t first) {
    int64_t second = t.length / first, parts = shapeOf(x).back();
    Shape shape(shapeOf(x).drop_back(2));
    int64_t rows = rowsOf(shape);
    shape.append({t.length, 2});
    if (!emit.budget.draw(Budget::Kind::Work, uint64_t(2 * t.length)))
      return {};
    // [r, j1, j2, parts] -> [r, j2, k1, 2]
    Value y = emit.transpose(emit.reshape(filled(), {rows, first, second, parts}), {0, 2, 1, 3});
    Fourier inner(op, emit.reshape(y, {rows * second, first, parts}), {first, t.inverse, /*isScaled=*/false});
    y = inner.complex(first);
    if (!y)
      return y;
    y = turned(emit.reshape(y, {rows, second, first, 2}));
    // [r, j2, k1, 2] -> [r, k1, k2, 2]
    y = emit.transpose(y, {0, 2, 1, 3});
    Fourier last(op, emit.reshape(y, {rows * first, second, 2}), {second, t.inverse, /*isScaled=*/false});
    y = last.complex(second);
    return y ? emit.reshape(emit.transpose(emit.reshape(y, {rows, first, second, 2}), {0, 2, 1, 3}), shape) : y;
  }

  // Multiplies y[r, j2, k1] by w^(j2 k1), and by the scale.
  Value turned(Value y) {
    Shape shape(shapeOf(y));
    Turn turn(t.length);
    Literal cos(elementOf(y), {shape[1], shape[2]}), sin = cos;
    for (int64_t j = 0; j < shape[1]; ++j)
      for (int64_t k = 0; k < shape[2]; ++k) {
        cos.push(t.scale() * turn.cos(j, k));
        sin.push(t.scale() * t.sign() * turn.sin(j, k));
      }
    Value real = emit.sliceDim(y, 3, 0, 1), imaginary = emit.sliceDim(y, 3, 1, 1);
    auto spread = [&](const Literal &factors) {
      return emit.broadcastDims(emit.literal(factors), shapeOf(real), {1, 2});
    };
    Value c = spread(cos), s = spread(sin);
    return emit.concat(
        {emit.sub(emit.mul(real, c), emit.mul(imaginary, s)), emit.add(emit.mul(real, s), emit.mul(imaginary, c))}, 3);
  }

  // Computes all n results in two rounds of products.
  Value inRounds(int64_t first) {
    int64_t second = t.length / first, outer = rankOf(x) - 2, parts = shapeOf(x).back();
    Shape batch(shapeOf(x).take_front(outer));
    Value y = filled();
    // [..., j1, j2, parts] -> [..., j2, (j1, parts)] -> [..., j2, (k1, 2)]
    y = emit.transpose(reshaped(y, batch, {first, second, parts}), order(outer, {1, 0, 2}));
    Turn inner(first), turn(t.length);
    y = product(y, first, first, 2, [&](int64_t j, int64_t from, int64_t k, int64_t to) {
      return rotation(inner.cos(j, k), t.sign() * inner.sin(j, k), from, to);
    });
    if (!y || !emit.budget.draw(Budget::Kind::Work, uint64_t(4 * t.length * second)))
      return y;
    // [..., j2, k1, 2] -> [k1, ..., (j2, 2)] -> [k1, ..., (k2, 2)]
    Literal matrices(elementOf(x), {first, 2 * second, 2 * second});
    for (int64_t k1 = 0; k1 < first; ++k1)
      for (int64_t j = 0; j < 2 * second; ++j)
        for (int64_t k = 0; k < 2 * second; ++k) {
          int64_t bin = k1 + first * (k / 2);
          matrices.push(t.scale() * rotation(turn.cos(j / 2, bin), t.sign() * turn.sin(j / 2, bin), j % 2, k % 2));
        }
    Shape toFront{outer + 1}, back;
    for (int64_t dim = 0; dim <= outer + 2; ++dim)
      if (dim != outer + 1)
        toFront.push_back(dim);
    for (int64_t dim = 0; dim <= outer + 2; ++dim)
      back.push_back(llvm::find(toFront, dim) - toFront.begin());
    y = emit.transpose(y, toFront);
    Shape moved(shapeOf(y));
    y = emit.matmul(emit.reshape(y, {first, rowsOf(batch), 2 * second}), emit.literal(matrices));
    // [k1, ..., k2, 2] -> [..., k2, k1, 2]
    return reshaped(emit.transpose(emit.reshape(y, moved), back), batch, {t.length, 2});
  }

  // Returns x with its full length: cut off, or padded with zeros.
  Value filled() {
    int64_t dim = rankOf(x) - 2, given = shapeOf(x)[dim];
    if (given >= t.length)
      return emit.sliceDim(x, dim, 0, t.length);
    Shape low(rankOf(x), 0), high = low;
    high[dim] = t.length - given;
    return emit.pad(x, low, high, 0);
  }

  static int64_t rowsOf(llvm::ArrayRef<int64_t> batch) {
    int64_t rows = 1;
    for (int64_t size : batch)
      rows *= size;
    return rows;
  }

  Value reshaped(Value value, Shape shape, std::initializer_list<int64_t> last) {
    shape.append(last.begin(), last.end());
    return emit.reshape(value, shape);
  }

  // Returns the permutation that keeps the outer dimensions, followed by the last dimensions in this order.
  static Shape order(int64_t outer, std::initializer_list<int64_t> last) {
    Shape all(llvm::to_vector(llvm::seq<int64_t>(0, outer)));
    for (int64_t dim : last)
      all.push_back(outer + dim);
    return all;
  }

  OpContext &op;
  Emitter &emit;
  Value x;
  Transform t;
};

// Returns the length that the node gives. Without it, returns the length of the signal, or of the signal that has
// `size` bins.
llvm::FailureOr<int64_t> lengthOf(OpContext &op, int64_t size, bool isToReal) {
  if (!op.has(1))
    return isToReal ? 2 * (size - 1) : size;
  auto given = op.ints("dft_length", 1);
  if (failed(given))
    return failure();
  if ((*given)->size() != 1 || (**given)[0] < 1)
    return op.fail("`dft_length` must be one number of 1 or more; got " + formatShape(**given));
  return (**given)[0];
}

llvm::FailureOr<int64_t> axisOf(OpContext &op, int64_t rank) {
  int64_t axis = op.intAttr("axis", 1);
  if (op.opset() >= 20) {
    auto given = op.ints("axis", 2);
    if (failed(given))
      return failure();
    if (given->has_value() && (*given)->size() != 1)
      return op.fail("`axis` must be one number; got " + formatShape(**given));
    axis = given->has_value() ? (**given)[0] : -2;
  }
  auto dim = op.axis(axis, rank);
  if (!failed(dim) && *dim == rank - 1)
    return op.fail("`axis` " + llvm::Twine(axis) +
                   " is the last dimension, which holds real and imaginary parts; expected one before it");
  return dim;
}

LogicalResult importDFT(OpContext &op) {
  Value x = op.value(0);
  int64_t rank = rankOf(x);
  if (failed(op.expectFloat(x)) || failed(op.expectRank(x, 2, 8)))
    return failure();
  int64_t parts = shapeOf(x).back();
  if (parts != 1 && parts != 2)
    return op.fail("the last dimension must be 1 (real numbers) or 2 (real and imaginary parts); got shape " +
                   formatShape(shapeOf(x)));
  auto dim = axisOf(op, rank);
  if (failed(dim))
    return failure();
  bool inverse = op.intAttr("inverse", 0) != 0, isOneSided = op.intAttr("onesided", 0) != 0;
  if (isOneSided && parts != (inverse ? 2 : 1))
    return op.fail(inverse ? "the inverse of a one-sided transform takes complex numbers; got shape " +
                                 formatShape(shapeOf(x))
                           : "a one-sided transform takes real numbers; got shape " + formatShape(shapeOf(x)));
  auto length = lengthOf(op, shapeOf(x)[*dim], isOneSided && inverse);
  if (failed(length))
    return failure();
  Shape order(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  std::swap(order[*dim], order[rank - 2]); // the permutation is its own inverse
  int64_t count = isOneSided && !inverse ? *length / 2 + 1 : *length;
  Shape result(shapeOf(x));
  result[*dim] = count, result.back() = isOneSided && inverse ? 1 : 2;
  if (*length < 1 || !countElements(result))
    return op.fail("a transform of length " + llvm::Twine(*length) + " of a signal of shape " +
                   formatShape(shapeOf(x)) + " has no result that can be held");
  if (typeOf(x).getNumElements() == 0 || *countElements(result) == 0)
    return op.result(op.emit.splat(0, typeOf(x).clone(result)));
  Fourier fourier(op, op.emit.transpose(x, order), {*length, inverse});
  Value y = isOneSided && inverse ? fourier.real() : fourier.complex(count);
  return y ? op.result(op.emit.transpose(y, order)) : failure();
}

// Returns a known positive number.
llvm::FailureOr<int64_t> positive(OpContext &op, llvm::StringRef name, size_t input) {
  auto given = op.ints(name, input);
  if (failed(given))
    return failure();
  if (!given->has_value() || (*given)->size() != 1 || (**given)[0] < 1)
    return op.fail("`" + name + "` must be one number of 1 or more");
  return (**given)[0];
}

// Returns the frames [batch, frames, n, parts] of a signal, multiplied by the window. Returns null after an error.
Value framesOf(OpContext &op, Value signal) {
  auto step = positive(op, "frame_step", 1);
  Value window = op.has(2) ? op.value(2) : Value();
  int64_t length = window && rankOf(window) == 1 ? shapeOf(window)[0] : 0, size = shapeOf(signal)[1];
  if (op.has(3)) {
    auto given = positive(op, "frame_length", 3);
    if (failed(given))
      return {};
    length = *given;
  }
  if (failed(step))
    return {};
  if (window && (shapeOf(window) != llvm::ArrayRef<int64_t>{length} || elementOf(window) != elementOf(signal)))
    return (void)op.fail("the window must have the signal's type and as many numbers as a frame, " +
                         llvm::Twine(length) + "; got shape " + formatShape(shapeOf(window))),
           Value();
  int64_t frames = length >= 1 && length <= size ? (size - length) / *step + 1 : 0;
  if (frames == 0 || !countElements({shapeOf(signal)[0], frames, length, 2}))
    return (void)op.fail("frames of " + llvm::Twine(length) + " numbers, " + llvm::Twine(*step) +
                         " apart, do not fit a signal of shape " + formatShape(shapeOf(signal))),
           Value();
  Emitter &emit = op.emit;
  auto type = RankedTensorType::get({frames, length}, emit.i64());
  Value places = emit.add(emit.mul(emit.iota(0, type), double(*step)), emit.iota(1, type));
  Value taken = take(emit, signal, places, 1);
  return window ? emit.mul(taken, emit.broadcastDims(window, shapeOf(taken), {2})) : taken;
}

LogicalResult importSTFT(OpContext &op) {
  Value signal = op.value(0);
  if (failed(op.expectFloat(signal)) || failed(op.expectRank(signal, 2, 3)))
    return failure();
  Shape shape(shapeOf(signal));
  if (shape.size() == 2)
    signal = op.emit.reshape(signal, {shape[0], shape[1], 1});
  int64_t parts = shapeOf(signal)[2];
  bool isOneSided = op.intAttr("onesided", 1) != 0;
  if (parts < 1 || parts > 2 || (parts == 2 && isOneSided))
    return op.fail("the signal must have shape [batch, length, 1], or [batch, length, 2] and `onesided` 0 for complex "
                   "numbers; got " +
                   formatShape(shape));
  bool isNone = shape[0] == 0;
  // A batch of no signals has a result without elements: a batch of one signal of zeros is transformed, and sliced
  // away.
  if (isNone)
    signal = op.emit.splat(0, typeOf(signal).clone({1, shape[1], parts}));
  Value frames = framesOf(op, signal);
  if (!frames)
    return failure();
  int64_t length = shapeOf(frames)[2];
  Value result = Fourier(op, frames, {length, /*inverse=*/false}).complex(isOneSided ? length / 2 + 1 : length);
  if (!result)
    return failure();
  return op.result(isNone ? op.emit.sliceDim(result, 0, 0, 0) : result);
}

} // namespace

void cleave::onnx_import::addFourierOperators(OperatorTable &table) {
  table.add("DFT", 17, inF32<importDFT>);
  table.add("STFT", 17, inF32<importSTFT>);
}
