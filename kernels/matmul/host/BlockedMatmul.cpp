#include "kernels/matmul/host/BlockedMatmul.h"

#include "kernels/common/host/Vectors.h"

#include <algorithm>
#include <omp.h>

namespace cleave::rt {

namespace {

// The right operand is packed in blocks of kColumns columns and kSteps values of k: a quarter of a megabyte, for the
// second-level cache. kRows rows of a transposed left operand are packed next to it.
constexpr int64_t kColumns = 256, kRows = 96, kSteps = 256;
// With fewer rows than this, the right operand is read in place, because packing would take longer than multiplying.
constexpr int64_t kRowsThatPay = 6;
// An item of work has at least this many rows, because it packs its own block.
constexpr int64_t kLeastRows = 48, kItemsOfThread = 3;

// The work of one thread at a time: some columns of one batch times some rows.
struct Item {
  const float *a, *b, *bias; // at the first row and column
  float *c;
  int64_t rows, columns;
  float *packedA, *packedB;
};

// to[k, n] = from[n, k] for four values of k and of n.
CLEAVE_VECTOR_CODE void transposeFour(float *to, int64_t strideTo, const float *from, int64_t strideFrom) {
  using V = VectorsOf<float, 16, 1, 1>;
  V::Vector rows[4], halves[4];
  for (int i = 0; i < 4; ++i)
    rows[i] = loadVector<V>(from + i * strideFrom);
  for (int i = 0; i < 2; ++i) {
    halves[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 0, 4, 1, 5);
    halves[2 + i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 2, 6, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    storeVector<V>(to + 2 * i * strideTo, __builtin_shufflevector(halves[2 * i], halves[2 * i + 1], 0, 1, 4, 5));
    storeVector<V>(to + (2 * i + 1) * strideTo, __builtin_shufflevector(halves[2 * i], halves[2 * i + 1], 2, 3, 6, 7));
  }
}

// to[k, n] = from[n, k].
CLEAVE_VECTOR_CODE void transpose(float *to, int64_t strideTo, const float *from, int64_t strideFrom, int64_t columns,
                                  int64_t steps) {
  int64_t wholeColumns = columns / 4 * 4, wholeSteps = steps / 4 * 4;
  for (int64_t n = 0; n < wholeColumns; n += 4)
    for (int64_t k = 0; k < wholeSteps; k += 4)
      transposeFour(to + k * strideTo + n, strideTo, from + n * strideFrom + k, strideFrom);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = n < wholeColumns ? wholeSteps : 0; k < steps; ++k)
      to[k * strideTo + n] = from[n * strideFrom + k];
}

// Packs columns of b as panels of `width` columns. In a panel, the rows of k follow each other. Zeros fill the last
// panel.
CLEAVE_VECTOR_CODE void packRight(float *to, const MatmulShape &s, const float *b, int64_t steps, int64_t columns,
                                  int64_t width) {
  for (int64_t first = 0; first < columns; first += width, to += width * steps) {
    int64_t count = std::min(width, columns - first);
    if (count < width)
      std::fill(to, to + width * steps, 0.0f);
    if (s.transposeB)
      transpose(to, width, b + first * s.k, s.k, count, steps);
    else
      for (int64_t k = 0; k < steps; ++k)
        std::memcpy(to + k * width, b + k * s.n + first, static_cast<size_t>(count) * sizeof(float));
  }
}

// The left operand of the tiles: element (m, k) is at[m * line + k * step].
struct Left {
  const float *at;
  int64_t line, step;
};

CLEAVE_VECTOR_CODE Left packLeft(float *to, const MatmulShape &s, const float *a, int64_t rows, int64_t steps) {
  if (!s.transposeA)
    return {a, s.k, 1};
  for (int64_t k = 0; k < steps; ++k)
    std::memcpy(to + k * rows, a + k * s.m, static_cast<size_t>(rows) * sizeof(float));
  return {to, 1, rows};
}

// The target of a tile's sums. The sums are added to c if `adds`, else to the bias, else to 0. Only `columns` columns
// of the tile are in the matrix.
struct Result {
  float *c;
  const float *bias;
  int64_t stride, columns;
  bool adds;
};

template <typename V, int L, int N>
CLEAVE_VECTOR_CODE void storeTile(const Result &to, const typename V::Vector (*sums)[N]) {
  for (int m = 0; m < L; ++m) {
    float *c = to.c + m * to.stride;
    const float *before = to.adds ? c : to.bias;
    if (to.columns == N * V::kLanes) {
      for (int n = 0; n < N; ++n)
        storeVector<V>(c + n * V::kLanes, before ? loadVector<V>(before + n * V::kLanes) + sums[m][n] : sums[m][n]);
      continue;
    }
    float line[N * V::kLanes];
    for (int n = 0; n < N; ++n)
      storeVector<V>(line + n * V::kLanes, sums[m][n]);
    for (int64_t n = 0; n < to.columns; ++n)
      c[n] = before ? before[n] + line[n] : line[n];
  }
}

// Multiplies L lines by N vectors, with the sums in registers. Each sum begins at 0, and adds the products of `steps`
// values of k in their order.
template <typename V, int L, int N>
CLEAVE_VECTOR_CODE void multiplyTile(const Result &to, const Left &a, const float *b, int64_t strideB, int64_t steps) {
  typename V::Vector sums[L][N] = {};
  for (int64_t k = 0; k < steps; ++k) {
    typename V::Vector line[N];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n)
      line[n] = loadVector<V>(b + k * strideB + n * V::kLanes);
#pragma GCC unroll 8
    for (int m = 0; m < L; ++m)
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n)
        sums[m][n] += line[n] * a.at[m * a.line + k * a.step];
  }
  storeTile<V, L, N>(to, sums);
}

// Multiplies `rows` lines by N vectors, L lines at a time while there are that many.
template <typename V, int L, int N>
CLEAVE_VECTOR_CODE void multiplyLines(Result to, Left a, const float *b, int64_t strideB, int64_t rows, int64_t steps) {
  for (; rows >= L; rows -= L) {
    multiplyTile<V, L, N>(to, a, b, strideB, steps);
    to.c += L * to.stride;
    a.at += L * a.line;
  }
  if constexpr (L > 1)
    multiplyLines<V, L == V::kLines ? 2 : 1, N>(to, a, b, strideB, rows, steps);
}

template <typename V, typename T> CLEAVE_VECTOR_CODE void multiplyItem(const MatmulShape *shape, const Item *item) {
  const MatmulShape &s = *shape;
  constexpr int kWide = 4 * V::kVectors; // for items of one or two rows
  constexpr int64_t width = V::kVectors * V::kLanes, wide = kWide * V::kLanes;
  bool packs = s.transposeB || item->rows >= kRowsThatPay || item->columns % width != 0;
  for (int64_t k = 0; k < s.k; k += kSteps) {
    int64_t steps = std::min(kSteps, s.k - k);
    const float *b = item->b + k * (s.transposeB ? 1 : s.n);
    if (packs)
      packRight(item->packedB, s, b, steps, item->columns, width);
    for (int64_t row = 0; row < item->rows; row += kRows) {
      int64_t rows = std::min(kRows, item->rows - row);
      const float *lines = item->a + row * (s.transposeA ? 1 : s.k) + k * (s.transposeA ? s.m : 1);
      Left a = packLeft(item->packedA, s, lines, rows, steps);
      for (int64_t column = 0, taken = width; column < item->columns; column += taken) {
        taken = !packs && column + wide <= item->columns ? wide : width;
        Result to = {item->c + row * s.n + column, item->bias ? item->bias + column : nullptr, s.n,
                     std::min(taken, item->columns - column), k > 0};
        if (packs)
          multiplyLines<V, V::kLines, V::kVectors>(to, a, item->packedB + column * steps, width, rows, steps);
        else if (taken == wide)
          multiplyLines<V, 1, kWide>(to, a, b + column, s.n, rows, steps);
        else
          multiplyLines<V, V::kLines, V::kVectors>(to, a, b + column, s.n, rows, steps);
      }
    }
  }
}

CLEAVE_FOR_PROCESSOR(multiplyItem)

class BlockedMatmul : public HostKernel {
public:
  BlockedMatmul(const MatmulShape &shape, int threads) : s_(shape), threads_(threads) {
    columnItems_ = (s_.n + kColumns - 1) / kColumns;
    int64_t others = std::max<int64_t>(s_.batch * columnItems_, 1), most = std::max<int64_t>(s_.m / kLeastRows, 1);
    int64_t wanted = threads == 1 ? 1 : (threads * kItemsOfThread + others - 1) / others;
    int64_t parts = std::clamp<int64_t>(wanted, 1, most);
    rowsOfItem_ = std::max<int64_t>((s_.m + parts - 1) / parts, 1);
    rowItems_ = (s_.m + rowsOfItem_ - 1) / rowsOfItem_;
    floatsOfA_ = s_.transposeA ? kRows * kSteps : 0;
  }

  std::vector<size_t> bufferBytes() const override {
    std::vector<size_t> bytes = s_.operandBytes();
    bytes.push_back(static_cast<size_t>(threads_ * floatsOfThread()) * sizeof(float));
    return bytes;
  }

  Status run(void *const *buffers) override {
    float *scratch = static_cast<float *>(buffers[s_.resultBuffer() + 1]);
    int64_t items = s_.batch * rowItems_ * columnItems_;
#pragma omp parallel for num_threads(threads_) schedule(static, 1) if (items > 1)
    for (int64_t index = 0; index < items; ++index) {
      Item item = itemAt(index, buffers, scratch + omp_get_thread_num() * floatsOfThread());
      multiplyItemForProcessor<float, float>(static_cast<const MatmulShape *>(&s_), static_cast<const Item *>(&item));
    }
    return Status::ok();
  }

private:
  int64_t floatsOfThread() const { return floatsOfA_ + kColumns * std::min(s_.k, kSteps); }

  Item itemAt(int64_t index, void *const *buffers, float *scratch) const {
    int64_t column = index % columnItems_ * kColumns, row = index / columnItems_ % rowItems_ * rowsOfItem_;
    int64_t batch = index / columnItems_ / rowItems_;
    auto *a = static_cast<const float *>(buffers[0]) + (s_.batchA == 1 ? 0 : batch) * s_.m * s_.k;
    auto *b = static_cast<const float *>(buffers[1]) + (s_.batchB == 1 ? 0 : batch) * s_.k * s_.n;
    auto *bias = s_.hasBias ? static_cast<const float *>(buffers[2]) + column : nullptr;
    auto *c = static_cast<float *>(buffers[s_.resultBuffer()]) + (batch * s_.m + row) * s_.n + column;
    return {
        a + row * (s_.transposeA ? 1 : s_.k), b + column * (s_.transposeB ? s_.k : 1), bias,    c,
        std::min(rowsOfItem_, s_.m - row),    std::min(kColumns, s_.n - column),       scratch, scratch + floatsOfA_};
  }

  MatmulShape s_;
  int threads_;
  int64_t columnItems_, rowItems_, rowsOfItem_, floatsOfA_;
};

} // namespace

std::unique_ptr<HostKernel> makeBlockedMatmul(const MatmulShape &shape, int threads) {
  return std::make_unique<BlockedMatmul>(shape, threads);
}

} // namespace cleave::rt
