// Gradients of a linear layer's weight and bias: a product, and the sums of the columns of one of its operands.
#include "kernels/common/host/Types.h"
#include "kernels/matmul/host/Matmul.h"
#include "runtime/base/HalfArrays.h"

#include <algorithm>
#include <vector>

namespace cleave::rt {

namespace {

// Rows that are added in one chain of f32. Sums of more rows consist of chains, which are added in f64, as in generated
// kernels.
constexpr int64_t kChain = 64;
// Columns that are added at a time. Each column is summed in ascending order of rows, so the number of threads changes
// no bit.
constexpr int64_t kTile = 64;

template <typename T> void addRow(const T *row, int64_t width, typename ComputeType<T>::type *sums) {
  for (int64_t j = 0; j < width; ++j)
    sums[j] += row[j];
}
template <typename T> void addNarrowRow(const T *row, int64_t width, float *sums) {
  float wide[kTile];
  widen(row, wide, static_cast<size_t>(width));
  addRow(wide, width, sums);
}
void addRow(const BFloat16 *row, int64_t width, float *sums) { addNarrowRow(row, width, sums); }
void addRow(const Float16 *row, int64_t width, float *sums) { addNarrowRow(row, width, sums); }

// Sums `width` columns of a matrix. Its `rows` rows are `stride` elements apart.
template <typename T, typename Out>
void sumTile(const T *x, int64_t rows, int64_t stride, int64_t width, Out *result) {
  using Sum = typename ComputeType<T>::type;
  double totals[kTile] = {};
  for (int64_t first = 0; first < rows; first += kChain) {
    Sum sums[kTile] = {};
    for (int64_t row = first, end = std::min(rows, first + kChain); row < end; ++row)
      addRow(x + row * stride, width, sums);
    for (int64_t j = 0; j < width; ++j)
      totals[j] += static_cast<double>(sums[j]);
  }
  for (int64_t j = 0; j < width; ++j)
    result[j] = static_cast<Out>(static_cast<Sum>(totals[j]));
}

template <typename T, typename Out> class MatmulBiasGrad : public HostKernel {
public:
  // `rows` and `columns` are those of the operand that is summed.
  MatmulBiasGrad(std::unique_ptr<HostKernel> product, size_t summed, int64_t rows, int64_t columns, int threads)
      : product_(std::move(product)), summed_(summed), rows_(rows), columns_(columns), threads_(threads) {}

  std::vector<size_t> bufferBytes() const override {
    std::vector<size_t> bytes = product_->bufferBytes(); // a, b, c, scratch
    bytes.insert(bytes.begin() + 3, static_cast<size_t>(columns_) * sizeof(Out));
    return bytes;
  }

  Status run(void *const *buffers) override {
    void *product[] = {buffers[0], buffers[1], buffers[2], buffers[4]};
    CLEAVE_TRY(product_->run(product));
    auto *x = static_cast<const T *>(buffers[summed_]);
    auto *sums = static_cast<Out *>(buffers[3]);
    bool parallel = static_cast<size_t>(rows_ * columns_) * sizeof(T) > kParallelBytes;
#pragma omp parallel for num_threads(threads_) if (parallel)
    for (int64_t first = 0; first < columns_; first += kTile)
      sumTile(x + first, rows_, columns_, std::min(kTile, columns_ - first), sums + first);
    return Status::ok();
  }

private:
  std::unique_ptr<HostKernel> product_;
  size_t summed_;
  int64_t rows_, columns_;
  int threads_;
};

Status makeProduct(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  const KernelDef &def = *findKernelDef("matmul");
  KernelParams params(def);
  for (const char *name : {"dtype", "out_dtype", "m", "n", "k"})
    params.set(name, args[name]);
  for (const char *name : {"batch", "batch_a", "batch_b", "transpose_a"})
    params.set(name, 1);
  params.set("transpose_b", 0);
  std::vector<int64_t> list;
  CLEAVE_TRY(params.finish(&list));
  KernelArgs product;
  CLEAVE_TRY(KernelArgs::read(def, list, &product));
  return makeMatmul(product, threads, result);
}

} // namespace

Status makeMatmulBiasGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  std::unique_ptr<HostKernel> product;
  CLEAVE_TRY(makeProduct(args, threads, &product));
  bool isOfA = args.def().name == "matmul_bias_grad_a";
  int64_t columns = args[isOfA ? "m" : "n"];
  size_t summed = isOfA ? 0 : 1;
  return withFloat(args.dtype(), [&](auto type) -> Status {
    using T = typename decltype(type)::type;
    if (args.dtype("out_dtype") == args.dtype())
      *result = std::make_unique<MatmulBiasGrad<T, T>>(std::move(product), summed, args["k"], columns, threads);
    else
      *result = std::make_unique<MatmulBiasGrad<T, float>>(std::move(product), summed, args["k"], columns, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
