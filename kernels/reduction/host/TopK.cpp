#include "kernels/reduction/host/TopK.h"

#include "kernels/common/host/Types.h"

#include <algorithm>
#include <numeric>

namespace cleave::rt {

namespace {

// The result's row is the workspace: a heap of the best indices so far, with the worst of them on top.
template <typename T> class TopK : public HostKernel {
  using C = typename ComputeType<T>::type;

public:
  TopK(int64_t outer, int64_t extent, int64_t count, bool smallest, int threads)
      : outer_(outer), extent_(extent), count_(count), smallest_(smallest), threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    return {static_cast<size_t>(outer_ * extent_) * sizeof(T), static_cast<size_t>(outer_ * count_) * 8};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *y = static_cast<int64_t *>(buffers[1]);
    bool parallel = static_cast<size_t>(outer_ * extent_) * sizeof(T) > kParallelBytes;
#pragma omp parallel for num_threads(threads_) if (parallel)
    for (int64_t o = 0; o < outer_; ++o)
      rank(x + o * extent_, y + o * count_);
    return Status::ok();
  }

private:
  // A total order, even with NaN.
  static bool isLarger(C a, C b) { return a > b || (a != a && b == b); }

  void rank(const T *x, int64_t *best) const {
    auto isBetter = [&](int64_t i, int64_t j) {
      C a = static_cast<C>(x[i]), b = static_cast<C>(x[j]);
      if (smallest_ ? isLarger(b, a) : isLarger(a, b))
        return true;
      return i < j && !(smallest_ ? isLarger(a, b) : isLarger(b, a));
    };
    std::iota(best, best + count_, 0);
    std::make_heap(best, best + count_, isBetter);
    for (int64_t i = count_; i < extent_; ++i)
      if (isBetter(i, best[0])) {
        std::pop_heap(best, best + count_, isBetter);
        best[count_ - 1] = i;
        std::push_heap(best, best + count_, isBetter);
      }
    std::sort_heap(best, best + count_, isBetter);
  }

  int64_t outer_, extent_, count_;
  bool smallest_;
  int threads_;
};

} // namespace

Status makeTopK(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  int64_t extent = args["extent"], count = args["count"];
  CLEAVE_TRY(checkPositiveSizes({args["outer"], extent}));
  if (count < 1 || count > extent)
    return invalidArgument("expected a count between 1 and " + std::to_string(extent) +
                           "; got: " + std::to_string(count));
  return withNumber(args.dtype(), [&](auto type) -> Status {
    *result = std::make_unique<TopK<typename decltype(type)::type>>(args["outer"], extent, count,
                                                                    args["smallest"] != 0, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
