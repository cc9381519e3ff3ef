#include "kernels/common/host/Types.h"
#include "kernels/matmul/host/Matmul.h"

#include <algorithm>

namespace cleave::rt {

namespace {

// Computes one row of c at a time, in tiles of columns whose sums stay in registers and the first-level cache. Every
// element is summed in ascending k, so the number of threads changes no bit.
template <typename T, typename Out> class ReferenceMatmul : public HostKernel {
  using Sum = typename ComputeType<T>::type;
  static constexpr int64_t kTile = 256;

public:
  ReferenceMatmul(const MatmulShape &shape, int threads) : s_(shape), threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    std::vector<size_t> bytes = s_.operandBytes();
    bytes.push_back(0); // no scratch
    return bytes;
  }

  Status run(void *const *buffers) override {
    auto *a = static_cast<const T *>(buffers[0]);
    auto *b = static_cast<const T *>(buffers[1]);
    auto *bias = s_.hasBias ? static_cast<const Out *>(buffers[2]) : nullptr;
    auto *c = static_cast<Out *>(buffers[s_.resultBuffer()]);
    bool parallel = s_.batch * s_.m * s_.n * s_.k > 1 << 15;
#pragma omp parallel for collapse(2) num_threads(threads_) if (parallel)
    for (int64_t batch = 0; batch < s_.batch; ++batch)
      for (int64_t row = 0; row < s_.m; ++row)
        computeRow(a + (s_.batchA == 1 ? 0 : batch) * s_.m * s_.k, b + (s_.batchB == 1 ? 0 : batch) * s_.k * s_.n, bias,
                   c + (batch * s_.m + row) * s_.n, row);
    return Status::ok();
  }

private:
  Sum left(const T *a, int64_t row, int64_t k) const {
    return static_cast<Sum>(s_.transposeA ? a[k * s_.m + row] : a[row * s_.k + k]);
  }

  void computeRow(const T *a, const T *b, const Out *bias, Out *c, int64_t row) const {
    Sum sums[kTile];
    for (int64_t first = 0; first < s_.n; first += kTile) {
      int64_t width = std::min(kTile, s_.n - first);
      for (int64_t j = 0; j < width; ++j)
        sums[j] = bias ? static_cast<Sum>(bias[first + j]) : Sum(0);
      for (int64_t k = 0; k < s_.k; ++k) {
        Sum value = left(a, row, k);
        const T *start = s_.transposeB ? b + first * s_.k + k : b + k * s_.n + first;
        int64_t step = s_.transposeB ? s_.k : 1;
        for (int64_t j = 0; j < width; ++j)
          sums[j] += value * static_cast<Sum>(start[j * step]);
      }
      for (int64_t j = 0; j < width; ++j)
        c[first + j] = static_cast<Out>(sums[j]);
    }
  }

  MatmulShape s_;
  int threads_;
};

} // namespace

Status makeReferenceMatmul(const MatmulShape &shape, int threads, std::unique_ptr<HostKernel> *result) {
  return withFloat(shape.dtype, [&](auto type) -> Status {
    using T = typename decltype(type)::type;
    if (shape.outDtype == shape.dtype)
      *result = std::make_unique<ReferenceMatmul<T, T>>(shape, threads);
    else
      *result = std::make_unique<ReferenceMatmul<T, float>>(shape, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
