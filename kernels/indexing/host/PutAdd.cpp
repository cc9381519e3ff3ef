#include "kernels/common/host/Types.h"
#include "kernels/indexing/host/Indexing.h"

#include <cstring>
#include <omp.h>

namespace cleave::rt {

namespace {

// Indices may repeat, so threads share out the target and not the updates: each owns a range of columns, or of rows
// where rows are short, and walks all indices in ascending order. Atomics would be faster on few rows and would add in
// a different order at each run.
template <typename T, typename Index> class PutAdd : public HostKernel {
  using C = typename ComputeType<T>::type;
  static constexpr int64_t kMinColumns = 16; // of one thread: a cache line of f32

public:
  PutAdd(const IndexShape &shape, int threads) : s_(shape), threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    size_t table = s_.tableElements() * sizeof(T);
    return {table, static_cast<size_t>(s_.indices) * sizeof(Index), s_.selectedElements() * sizeof(T), table};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *index = static_cast<const Index *>(buffers[1]);
    auto *update = static_cast<const T *>(buffers[2]);
    auto *y = static_cast<T *>(buffers[3]);
    CLEAVE_TRY(checkIndices(index, s_.indices, s_.rows));
    if (y != x)
      std::memcpy(y, x, s_.tableElements() * sizeof(T));
    bool parallel = s_.selectedElements() * sizeof(T) > kParallelBytes;
#pragma omp parallel num_threads(threads_) if (parallel)
    {
      int64_t count = omp_get_num_threads(), self = omp_get_thread_num();
      bool byColumns = s_.inner >= kMinColumns * count;
      int64_t extent = byColumns ? s_.inner : s_.rows;
      int64_t begin = extent * self / count, end = extent * (self + 1) / count;
      if (byColumns)
        add(index, update, y, {0, s_.rows}, {begin, end});
      else
        add(index, update, y, {begin, end}, {0, s_.inner});
    }
    return Status::ok();
  }

private:
  struct Range {
    int64_t begin, end;
  };

  void add(const Index *index, const T *update, T *y, Range rows, Range columns) const {
    for (int64_t o = 0; o < s_.outer; ++o)
      for (int64_t i = 0; i < s_.indices; ++i) {
        int64_t row = rowOf(index[i], s_.rows);
        if (row < rows.begin || row >= rows.end)
          continue;
        T *target = y + (o * s_.rows + row) * s_.inner;
        const T *source = update + (o * s_.indices + i) * s_.inner;
        for (int64_t r = columns.begin; r < columns.end; ++r)
          target[r] = static_cast<T>(static_cast<C>(target[r]) + static_cast<C>(source[r]));
      }
  }

  IndexShape s_;
  int threads_;
};

} // namespace

Status makePutAdd(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  IndexShape shape;
  CLEAVE_TRY(IndexShape::read(args, &shape));
  return withFloat(args.dtype(), [&](auto type) {
    return withIndex(args.dtype("index_dtype"), [&](auto index) -> Status {
      using T = typename decltype(type)::type;
      *result = std::make_unique<PutAdd<T, typename decltype(index)::type>>(shape, threads);
      return Status::ok();
    });
  });
}

} // namespace cleave::rt
