#include "kernels/attention/host/Attention.h"

#include "kernels/attention/host/Dropout.h"

#include <omp.h>

namespace cleave::rt {

namespace {

template <typename C> struct BackwardScratch {
  BackwardScratch(const AttentionShape &s, bool converts, C *begin) {
    ScratchParts<C> parts(begin);
    int64_t depth = paddedSize(s.depth), width = paddedSize(s.width);
    query = parts.take(s.depth * kAttentionTile);
    grad = parts.take(s.width * kAttentionTile);
    queryRows = parts.take(depth * kAttentionTile);
    gradRows = parts.take(width * kAttentionTile);
    queryGrad = parts.take(s.depth * kAttentionTile);
    probabilities = parts.take(kAttentionTile * kAttentionTile);
    scoreGrads = parts.take(kAttentionTile * kAttentionTile);
    factors = parts.take(s.hasDropout ? kDropoutLines * kAttentionTile : 0);
    maximum = parts.take(kAttentionTile);
    inverse = parts.take(kAttentionTile);
    delta = parts.take(kAttentionTile);
    keyGrad = parts.take(s.columns * depth);
    valueGrad = parts.take(s.columns * width);
    keys = parts.take(converts ? s.columns * s.depth : 0);
    values = parts.take(converts ? s.columns * s.width : 0);
    count = parts.taken();
  }
  C *query, *grad, *queryGrad;             // transposed
  C *queryRows, *gradRows;                 // not transposed
  C *probabilities, *scoreGrads, *factors; // transposed; `factors` are those of dropout
  C *maximum, *inverse, *delta;            // of the tile's rows; inverse is 1 / sum
  C *keyGrad, *valueGrad, *keys, *values;  // of all columns
  int64_t count;
};

template <typename T, typename C> struct BackwardHead {
  const T *query, *key, *value, *grad;
  const void *mask;
  HeadDropout dropout;
  const C *maximum, *sum, *delta;
  T *queryGrad, *keyGrad, *valueGrad;
};

// Computes the probabilities of the tile's scores, after dropout, and the gradients of the scores from those of the
// probabilities.
template <typename V>
CLEAVE_VECTOR_CODE void differentiateSoftmax(const AttentionShape &s, BackwardScratch<typename V::Number> &w,
                                             int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < kAttentionTile; r += V::kLanes) {
      auto *score = w.probabilities + c * kAttentionTile + r, *grad = w.scoreGrads + c * kAttentionTile + r;
      auto probability =
          powerOfE<V>(loadVector<V>(score) - loadVector<V>(w.maximum + r)) * loadVector<V>(w.inverse + r);
      auto left = probability, gradient = loadVector<V>(grad);
      if (s.hasDropout) {
        auto factor = loadVector<V>(w.factors + c * kAttentionTile + r);
        left *= factor, gradient *= factor;
      }
      storeVector<V>(score, left);
      storeVector<V>(grad, probability * (gradient - loadVector<V>(w.delta + r)));
    }
}

template <typename V, typename T>
CLEAVE_VECTOR_CODE void readBlock(const AttentionShape &s, const BackwardHead<T, typename V::Number> &head,
                                  BackwardScratch<typename V::Number> &w, int64_t first, int64_t rows) {
  using C = typename V::Number;
  readTransposed(w.query, head.query + first * s.depth, rows, s.depth);
  readTransposed(w.grad, head.grad + first * s.width, rows, s.width);
  readRows(w.queryRows, head.query + first * s.depth, rows, s.depth, paddedSize(s.depth));
  readRows(w.gradRows, head.grad + first * s.width, rows, s.width, paddedSize(s.width));
  std::fill(w.queryGrad, w.queryGrad + s.depth * kAttentionTile, C(0));
  for (int64_t r = 0; r < kAttentionTile; ++r) {
    w.maximum[r] = r < rows ? head.maximum[first + r] : C(0);
    w.inverse[r] = r < rows ? C(1) / head.sum[first + r] : C(0);
    w.delta[r] = r < rows ? head.delta[first + r] : C(0);
  }
}

// Computes the share of a tile of rows in all gradients, with all its columns.
template <typename V, typename T>
CLEAVE_VECTOR_CODE void differentiateBlock(const AttentionShape &s, const BackwardHead<T, typename V::Number> &head,
                                           BackwardScratch<typename V::Number> &w, const typename V::Number *keys,
                                           const typename V::Number *values, int64_t first) {
  constexpr int64_t tile = kAttentionTile;
  const int64_t depth = paddedSize(s.depth), width = paddedSize(s.width), rows = std::min(tile, s.rows - first);
  readBlock<V, T>(s, head, w, first, rows);
  for (int64_t column = 0, end = s.columnsOf(first); column < end; column += tile) {
    int64_t columns = std::min(tile, end - column);
    const auto *key = keys + column * s.depth, *value = values + column * s.width;
    multiply<V>(w.probabilities, tile, columns, tile, key, s.depth, 1, w.query, tile, s.depth, false);
    multiply<V>(w.scoreGrads, tile, columns, tile, value, s.width, 1, w.grad, tile, s.width, false);
    ScoreTile scoreTile = {first, rows, column, columns};
    finishScores<V>(w.probabilities, s, head.mask, scoreTile);
    if (s.hasDropout)
      keepOfTile<V>(w.factors, s, head.dropout, scoreTile);
    differentiateSoftmax<V>(s, w, columns);
    dropReplaced(w.scoreGrads, s, head.mask, scoreTile);
    multiply<V>(w.valueGrad + column * width, width, columns, width, w.probabilities, tile, 1, w.gradRows, width, rows,
                true);
    multiply<V>(w.keyGrad + column * depth, depth, columns, depth, w.scoreGrads, tile, 1, w.queryRows, depth, rows,
                true);
    multiply<V>(w.queryGrad, tile, s.depth, tile, key, 1, s.depth, w.scoreGrads, tile, columns, true);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < s.depth; ++i)
      head.queryGrad[(first + r) * s.depth + i] =
          static_cast<T>(w.queryGrad[i * tile + r] * static_cast<typename V::Number>(s.scale));
}

// Computes a head. Tiles of rows are in ascending order, so that gradients of keys and values have one order of
// summation.
template <typename V, typename T>
CLEAVE_VECTOR_CODE void differentiateHead(const AttentionShape *shape, const BackwardHead<T, typename V::Number> *head,
                                          typename V::Number *scratch) {
  using C = typename V::Number;
  const AttentionShape &s = *shape;
  const int64_t depth = paddedSize(s.depth), width = paddedSize(s.width);
  BackwardScratch<C> w(s, !std::is_same_v<T, C>, scratch);
  const C *keys = readAll(w.keys, head->key, s.columns * s.depth);
  const C *values = readAll(w.values, head->value, s.columns * s.width);
  std::fill(w.keyGrad, w.keyGrad + s.columns * depth, C(0));
  std::fill(w.valueGrad, w.valueGrad + s.columns * width, C(0));
  for (int64_t first = 0; first < s.rows; first += kAttentionTile)
    differentiateBlock<V, T>(s, *head, w, keys, values, first);
  for (int64_t c = 0; c < s.columns; ++c) {
    for (int64_t i = 0; i < s.depth; ++i)
      head->keyGrad[c * s.depth + i] = static_cast<T>(w.keyGrad[c * depth + i] * static_cast<C>(s.scale));
    for (int64_t i = 0; i < s.width; ++i)
      head->valueGrad[c * s.width + i] = static_cast<T>(w.valueGrad[c * width + i]);
  }
}
CLEAVE_FOR_PROCESSOR(differentiateHead)

template <typename T> class AttentionGrad : public HostKernel {
  using C = typename ComputeType<T>::type;

public:
  AttentionGrad(const AttentionShape &shape, int threads)
      : s_(shape), threads_(threads), perThread_(BackwardScratch<C>(shape, !std::is_same_v<T, C>, nullptr).count) {}

  std::vector<size_t> bufferBytes() const override {
    auto bytes = [&](int64_t rows, int64_t size, size_t element) {
      return static_cast<size_t>(s_.items() * rows * size) * element;
    };
    size_t query = bytes(s_.rows, s_.depth, sizeof(T)), key = bytes(s_.columns, s_.depth, sizeof(T)),
           value = bytes(s_.columns, s_.width, sizeof(T)), statistic = bytes(s_.rows, 1, sizeof(C));
    std::vector<size_t> result = {query, key, value};
    s_.addBufferBytes(&result);
    result.insert(result.end(), {bytes(s_.rows, s_.width, sizeof(T)), statistic, statistic, statistic, query, key,
                                 value, static_cast<size_t>(perThread_) * static_cast<size_t>(threads_) * sizeof(C)});
    return result;
  }

  Status run(void *const *buffers) override {
    auto *scratch = static_cast<C *>(buffers[s_.buffersInCommon() + 7]);
#pragma omp parallel for num_threads(threads_) schedule(static, 1) if (s_.items() > 1)
    for (int64_t item = 0; item < s_.items(); ++item) {
      BackwardHead<T, C> head = headOf(buffers, item);
      differentiateHeadForProcessor<T, C>(&s_, &head, scratch + omp_get_thread_num() * perThread_);
    }
    return Status::ok();
  }

private:
  BackwardHead<T, C> headOf(void *const *buffers, int64_t item) const {
    void *const *rest = buffers + s_.buffersInCommon();
    const void *mask = nullptr;
    if (s_.hasMask)
      mask =
          static_cast<const char *>(buffers[3]) + s_.maskOffset(item) * static_cast<int64_t>(dtypeSize(s_.maskDtype));
    int64_t query = item * s_.rows * s_.depth, key = item * s_.columns * s_.depth, value = item * s_.columns * s_.width;
    auto statistic = [&](int number) { return static_cast<const C *>(rest[number]) + item * s_.rows; };
    return {static_cast<const T *>(buffers[0]) + query,
            static_cast<const T *>(buffers[1]) + key,
            static_cast<const T *>(buffers[2]) + value,
            static_cast<const T *>(rest[0]) + item * s_.rows * s_.width,
            mask,
            s_.hasDropout ? HeadDropout::of(buffers + s_.dropoutBuffer(), item) : HeadDropout(),
            statistic(1),
            statistic(2),
            statistic(3),
            static_cast<T *>(rest[4]) + query,
            static_cast<T *>(rest[5]) + key,
            static_cast<T *>(rest[6]) + value};
  }

  AttentionShape s_;
  int threads_;
  int64_t perThread_;
};

} // namespace

Status makeAttentionGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  AttentionShape shape;
  CLEAVE_TRY(AttentionShape::read(args, &shape));
  return withFloat(shape.dtype, [&](auto type) -> Status {
    *result = std::make_unique<AttentionGrad<typename decltype(type)::type>>(shape, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
