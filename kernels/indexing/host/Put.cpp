#include "kernels/common/host/Types.h"
#include "kernels/indexing/host/Indexing.h"

#include <cstring>
#include <omp.h>
#include <type_traits>

namespace cleave::rt {

namespace {

// Ways to combine an element with an update. Sums and products of integers wrap around.
struct Set {
  template <typename T> static T combine(T, T update) { return update; }
};
struct Add {
  template <typename T> static T combine(T element, T update) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(element) + static_cast<uint64_t>(update));
    else
      return element + update;
  }
};
struct Multiply {
  template <typename T> static T combine(T element, T update) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(element) * static_cast<uint64_t>(update));
    else
      return element * update;
  }
};
struct Max {
  template <typename T> static T combine(T element, T update) {
    return update > element || update != update ? update : element; // NaN wins
  }
};
struct Min {
  template <typename T> static T combine(T element, T update) {
    return update < element || update != update ? update : element;
  }
};

// Indices may repeat, so threads divide the target among them, and not the updates. Each thread owns a range of the
// batch, of columns, or (if rows are short) of rows, and goes through all indices in ascending order. Atomics would be
// faster for few rows, but would add in another order at each run.
template <typename T, typename Index, typename Combine> class Put : public HostKernel {
  using C = typename ComputeType<T>::type;
  static constexpr int64_t kMinColumns = 16; // of a thread: a cache line of f32

public:
  Put(const IndexShape &shape, int threads) : s_(shape), threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    size_t table = s_.tableElements() * sizeof(T);
    return {table, s_.allIndices() * sizeof(Index), s_.selectedElements() * sizeof(T), table};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *index = static_cast<const Index *>(buffers[1]);
    auto *update = static_cast<const T *>(buffers[2]);
    auto *y = static_cast<T *>(buffers[3]);
    CLEAVE_TRY(checkIndices(index, s_));
    if (y != x)
      std::memcpy(y, x, s_.tableElements() * sizeof(T));
    bool parallel = s_.selectedElements() * sizeof(T) > kParallelBytes;
#pragma omp parallel num_threads(threads_) if (parallel)
    {
      int64_t count = omp_get_num_threads(), self = omp_get_thread_num();
      auto share = [&](int64_t extent) { return Range{extent * self / count, extent * (self + 1) / count}; };
      Range batch = {0, s_.batch}, rows = {0, s_.rows}, columns = {0, s_.inner};
      if (s_.batch >= 4 * count)
        batch = share(s_.batch);
      else if (s_.inner >= kMinColumns * count)
        columns = share(s_.inner);
      else
        rows = share(s_.rows);
      for (int64_t b = batch.begin; b < batch.end; ++b)
        putInto(b, rows, columns, index + b * s_.indices, update, y);
    }
    return Status::ok();
  }

private:
  struct Range {
    int64_t begin, end;
  };

  // `index` has the indices of batch b.
  void putInto(int64_t b, Range rows, Range columns, const Index *index, const T *update, T *y) const {
    for (int64_t o = b * s_.outer; o < (b + 1) * s_.outer; ++o)
      for (int64_t i = 0; i < s_.indices; ++i) {
        int64_t row = rowOf(index[i], s_.rows);
        if (row < rows.begin || row >= rows.end)
          continue;
        T *target = y + (o * s_.rows + row) * s_.inner;
        const T *source = update + (o * s_.indices + i) * s_.inner;
        for (int64_t r = columns.begin; r < columns.end; ++r)
          if constexpr (std::is_same_v<Combine, Set>)
            target[r] = source[r];
          else
            target[r] = static_cast<T>(Combine::combine(static_cast<C>(target[r]), static_cast<C>(source[r])));
      }
  }

  IndexShape s_;
  int threads_;
};

template <typename T, typename Combine>
Status make(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  IndexShape shape;
  CLEAVE_TRY(IndexShape::read(args, &shape));
  return withIndex(args.dtype("index_dtype"), [&](auto index) -> Status {
    *result = std::make_unique<Put<T, typename decltype(index)::type, Combine>>(shape, threads);
    return Status::ok();
  });
}

template <typename Combine>
Status makeCombining(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return withNumber(args.dtype(), [&](auto type) {
    return make<typename decltype(type)::type, Combine>(args, threads, result);
  });
}

// Moves bytes, so one instance serves all types of a size.
Status makeSet(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  switch (dtypeSize(args.dtype())) {
  case 1:
    return make<uint8_t, Set>(args, threads, result);
  case 2:
    return make<uint16_t, Set>(args, threads, result);
  case 4:
    return make<uint32_t, Set>(args, threads, result);
  case 8:
    return make<uint64_t, Set>(args, threads, result);
  default:
    return invalidArgument("unknown element type " + std::to_string(args["dtype"]));
  }
}

} // namespace

Status makePutAdd(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return makeCombining<Add>(args, threads, result);
}

Status makePut(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  switch (args["combine"]) {
  case -1:
    return makeSet(args, threads, result);
  case 0:
    return makeCombining<Add>(args, threads, result);
  case 1:
    return makeCombining<Max>(args, threads, result);
  case 2:
    return makeCombining<Min>(args, threads, result);
  case 3:
    return makeCombining<Multiply>(args, threads, result);
  default:
    return invalidArgument("expected combine between -1 and 3; got: " + std::to_string(args["combine"]));
  }
}

} // namespace cleave::rt
