#include "kernels/reduction/host/Argmax.h"

#include "kernels/common/host/Types.h"

namespace cleave::rt {

namespace {

template <typename T> class Argmax : public HostKernel {
  using C = typename ComputeType<T>::type;

public:
  Argmax(int64_t outer, int64_t extent, int64_t inner, int threads)
      : outer_(outer), extent_(extent), inner_(inner), threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    return {static_cast<size_t>(outer_ * extent_ * inner_) * sizeof(T), static_cast<size_t>(outer_ * inner_) * 8};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *y = static_cast<int64_t *>(buffers[1]);
    bool parallel = static_cast<size_t>(outer_ * extent_ * inner_) * sizeof(T) > kParallelBytes;
#pragma omp parallel for collapse(2) num_threads(threads_) if (parallel)
    for (int64_t o = 0; o < outer_; ++o)
      for (int64_t r = 0; r < inner_; ++r)
        y[o * inner_ + r] = first(x + o * extent_ * inner_ + r);
    return Status::ok();
  }

private:
  static bool isNan(C value) { return value != value; } // also for integers, which are never NaN

  int64_t first(const T *x) const {
    int64_t best = 0;
    C maximum = static_cast<C>(x[0]);
    for (int64_t i = 1; i < extent_; ++i) {
      C value = static_cast<C>(x[i * inner_]);
      if (value > maximum || (isNan(value) && !isNan(maximum))) {
        best = i;
        maximum = value;
      }
    }
    return best;
  }

  int64_t outer_, extent_, inner_;
  int threads_;
};

} // namespace

Status makeArgmax(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  CLEAVE_TRY(checkPositiveSizes({args["outer"], args["extent"], args["inner"]}));
  return withNumber(args.dtype(), [&](auto type) -> Status {
    *result =
        std::make_unique<Argmax<typename decltype(type)::type>>(args["outer"], args["extent"], args["inner"], threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
