#include "kernels/attention/host/Attention.h"

#include "kernels/attention/host/Dropout.h"

#include <omp.h>

namespace cleave::rt {

namespace {

// Tiles of rows in one item of work. They share the converted keys and values.
constexpr int64_t kTilesOfItem = 4;

template <typename C> struct ForwardScratch {
  ForwardScratch(const AttentionShape &s, bool converts, C *begin) {
    ScratchParts<C> parts(begin);
    query = parts.take(s.depth * kAttentionTile);
    result = parts.take(s.width * kAttentionTile);
    scores = parts.take(kAttentionTile * kAttentionTile);
    factors = parts.take(s.hasDropout ? kDropoutLines * kAttentionTile : 0);
    maximum = parts.take(kAttentionTile);
    sum = parts.take(kAttentionTile);
    keys = parts.take(converts ? s.columns * s.depth : 0);
    values = parts.take(converts ? s.columns * s.width : 0);
    count = parts.taken();
  }
  C *query, *result, *scores, *factors; // transposed; `factors` are those of dropout
  C *maximum, *sum, *keys, *values;
  int64_t count;
};

// A head's tensors.
template <typename T, typename C> struct ForwardHead {
  const T *query, *key, *value;
  const void *mask;
  HeadDropout dropout;
  T *result;
  C *maximum, *sum;
};

// scores := e^(scores - maximum), after the maxima of rows were updated by this tile. Earlier sums and results are
// scaled to the new maxima. If all scores of a row are -inf, its sum stays 0, and its result is NaN. Dropout comes
// after the sums.
template <typename V>
CLEAVE_VECTOR_CODE void updateSoftmax(const AttentionShape &s, ForwardScratch<typename V::Number> &w, int64_t columns) {
  using C = typename V::Number;
  using Vector = typename V::Vector;
  for (int64_t r = 0; r < kAttentionTile; r += V::kLanes) {
    Vector before = loadVector<V>(w.maximum + r), maximum = before;
    for (int64_t c = 0; c < columns; ++c) {
      Vector score = loadVector<V>(w.scores + c * kAttentionTile + r);
      maximum = score > maximum ? score : maximum;
    }
    Vector none = {};
    Vector base = maximum == -std::numeric_limits<C>::infinity() ? none : maximum;
    Vector factor = powerOfE<V>(before - base);
    Vector sum = loadVector<V>(w.sum + r) * factor;
    for (int64_t c = 0; c < columns; ++c) {
      C *at = w.scores + c * kAttentionTile + r;
      Vector power = powerOfE<V>(loadVector<V>(at) - base);
      sum += power;
      storeVector<V>(at, s.hasDropout ? power * loadVector<V>(w.factors + c * kAttentionTile + r) : power);
    }
    storeVector<V>(w.maximum + r, maximum);
    storeVector<V>(w.sum + r, sum);
    for (int64_t i = 0; i < s.width; ++i) {
      C *at = w.result + i * kAttentionTile + r;
      storeVector<V>(at, loadVector<V>(at) * factor);
    }
  }
}

template <typename V, typename T>
CLEAVE_VECTOR_CODE void attendTile(const AttentionShape &s, const ForwardHead<T, typename V::Number> &head,
                                   ForwardScratch<typename V::Number> &w, const typename V::Number *keys,
                                   const typename V::Number *values, int64_t first) {
  using C = typename V::Number;
  int64_t rows = std::min(kAttentionTile, s.rows - first);
  readTransposed(w.query, head.query + first * s.depth, rows, s.depth);
  std::fill(w.result, w.result + s.width * kAttentionTile, C(0));
  std::fill(w.maximum, w.maximum + kAttentionTile, -std::numeric_limits<C>::infinity());
  std::fill(w.sum, w.sum + kAttentionTile, C(0));
  for (int64_t column = 0, end = s.columnsOf(first); column < end; column += kAttentionTile) {
    int64_t columns = std::min(kAttentionTile, end - column);
    multiply<V>(w.scores, kAttentionTile, columns, kAttentionTile, keys + column * s.depth, s.depth, 1, w.query,
                kAttentionTile, s.depth, /*adds=*/false);
    ScoreTile tile = {first, rows, column, columns};
    finishScores<V>(w.scores, s, head.mask, tile);
    if (s.hasDropout)
      keepOfTile<V>(w.factors, s, head.dropout, tile);
    updateSoftmax<V>(s, w, columns);
    multiply<V>(w.result, kAttentionTile, s.width, kAttentionTile, values + column * s.width, 1, s.width, w.scores,
                kAttentionTile, columns, /*adds=*/true);
  }
  for (int64_t r = 0; r < rows; ++r) {
    head.maximum[first + r] = w.maximum[r];
    head.sum[first + r] = w.sum[r];
    for (int64_t i = 0; i < s.width; ++i)
      head.result[(first + r) * s.width + i] = static_cast<T>(w.result[i * kAttentionTile + r] / w.sum[r]);
  }
}

// Computes rows [first, first + kTilesOfItem tiles) of a head.
template <typename V, typename T>
CLEAVE_VECTOR_CODE void attendRows(const AttentionShape *shape, const ForwardHead<T, typename V::Number> *head,
                                   typename V::Number *scratch, int64_t first) {
  using C = typename V::Number;
  const AttentionShape &s = *shape;
  ForwardScratch<C> w(s, !std::is_same_v<T, C>, scratch);
  int64_t end = std::min(s.rows, first + kTilesOfItem * kAttentionTile);
  int64_t columns = s.columnsOf((end - 1) / kAttentionTile * kAttentionTile);
  const C *keys = readAll(w.keys, head->key, columns * s.depth);
  const C *values = readAll(w.values, head->value, columns * s.width);
  for (int64_t row = first; row < end; row += kAttentionTile)
    attendTile<V, T>(s, *head, w, keys, values, row);
}
CLEAVE_FOR_PROCESSOR(attendRows)

template <typename T> class Attention : public HostKernel {
  using C = typename ComputeType<T>::type;

public:
  Attention(const AttentionShape &shape, int threads)
      : s_(shape), threads_(threads), perThread_(ForwardScratch<C>(shape, !std::is_same_v<T, C>, nullptr).count) {}

  std::vector<size_t> bufferBytes() const override {
    auto bytes = [&](int64_t rows, int64_t size, size_t element) {
      return static_cast<size_t>(s_.items() * rows * size) * element;
    };
    std::vector<size_t> result = {bytes(s_.rows, s_.depth, sizeof(T)), bytes(s_.columns, s_.depth, sizeof(T)),
                                  bytes(s_.columns, s_.width, sizeof(T))};
    s_.addBufferBytes(&result);
    result.insert(result.end(),
                  {bytes(s_.rows, s_.width, sizeof(T)), bytes(s_.rows, 1, sizeof(C)), bytes(s_.rows, 1, sizeof(C)),
                   static_cast<size_t>(perThread_) * static_cast<size_t>(threads_) * sizeof(C)});
    return result;
  }

  Status run(void *const *buffers) override {
    constexpr int64_t rowsOfItem = kTilesOfItem * kAttentionTile;
    int64_t parts = (s_.rows + rowsOfItem - 1) / rowsOfItem;
    auto *scratch = static_cast<C *>(buffers[s_.buffersInCommon() + 3]);
#pragma omp parallel for num_threads(threads_) schedule(static, 1) if (s_.items() * parts > 1)
    for (int64_t work = 0; work < s_.items() * parts; ++work) {
      ForwardHead<T, C> head = headOf(buffers, work / parts);
      attendRowsForProcessor<T, C>(&s_, &head, scratch + omp_get_thread_num() * perThread_, work % parts * rowsOfItem);
    }
    return Status::ok();
  }

private:
  ForwardHead<T, C> headOf(void *const *buffers, int64_t item) const {
    void *const *results = buffers + s_.buffersInCommon();
    const void *mask = nullptr;
    if (s_.hasMask)
      mask =
          static_cast<const char *>(buffers[3]) + s_.maskOffset(item) * static_cast<int64_t>(dtypeSize(s_.maskDtype));
    return {static_cast<const T *>(buffers[0]) + item * s_.rows * s_.depth,
            static_cast<const T *>(buffers[1]) + item * s_.columns * s_.depth,
            static_cast<const T *>(buffers[2]) + item * s_.columns * s_.width,
            mask,
            s_.hasDropout ? HeadDropout::of(buffers + s_.dropoutBuffer(), item) : HeadDropout(),
            static_cast<T *>(results[0]) + item * s_.rows * s_.width,
            static_cast<C *>(results[1]) + item * s_.rows,
            static_cast<C *>(results[2]) + item * s_.rows};
  }

  AttentionShape s_;
  int threads_;
  int64_t perThread_;
};

} // namespace

Status makeAttention(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  AttentionShape shape;
  CLEAVE_TRY(AttentionShape::read(args, &shape));
  return withFloat(shape.dtype, [&](auto type) -> Status {
    *result = std::make_unique<Attention<typename decltype(type)::type>>(shape, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
