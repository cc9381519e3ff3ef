#include "kernels/pooling/host/Pooling.h"

#include "kernels/pooling/host/ChannelsLastPool.h"
#include "kernels/pooling/host/RowMaxima.h"
#include "kernels/pooling/host/WindowMaxima.h"

namespace cleave::rt {

namespace {

struct PoolShape {
  int64_t samples = 0, channels = 0, planes = 0;
  bool countPad = false, channelsLast = false;
  Window window;

  static Status read(const KernelArgs &args, PoolShape *s) {
    CLEAVE_TRY(Window::read(args, &s->window));
    CLEAVE_TRY(checkPositiveSizes({args["n"], args["c"], s->window.inSize()}));
    CLEAVE_TRY(checkPositiveSizes({args["n"], args["c"], s->window.outSize()}));
    s->samples = args["n"];
    s->channels = args["c"];
    s->planes = s->samples * s->channels;
    s->countPad = args["count_pad"] != 0;
    s->channelsLast = args["channels_last"] != 0;
    return Status::ok();
  }
};

// Base of the pools. It divides the planes among threads.
template <typename T> class PoolKernel : public HostKernel {
public:
  PoolKernel(const PoolShape &shape, int threads)
      : shape_(shape), threads_(threads), in_(window_.inSize()), out_(window_.outSize()) {}

protected:
  using C = typename ComputeType<T>::type;

  size_t inBytes() const { return static_cast<size_t>(shape_.planes * in_) * sizeof(T); }
  size_t outBytes() const { return static_cast<size_t>(shape_.planes * out_) * sizeof(T); }

  template <typename Plane> void forEachPlane(Plane plane) const {
    bool parallel = shape_.planes * out_ * window_.kernelSize() > 4096;
#pragma omp parallel for num_threads(threads_) if (parallel)
    for (int64_t p = 0; p < shape_.planes; ++p)
      plane(p);
  }

  // Computes a pool with channels last. Rows of outputs are divided among threads. With `divisors` for all outputs of a
  // sample, it is a mean.
  void poolRows(const T *x, T *y, const C *divisors) const {
    int64_t rows = window_.out[0] * window_.out[1], channels = shape_.channels;
    bool parallel = shape_.planes * out_ * window_.kernelSize() > 4096;
#pragma omp parallel for num_threads(threads_) if (parallel)
    for (int64_t item = 0; item < shape_.samples * rows; ++item) {
      int64_t at[2] = {item % rows / window_.out[1], item % window_.out[1]};
      poolRowForProcessor<T, C>(&window_, channels, static_cast<const int64_t *>(at),
                                x + item / rows * in_ * channels, y + item * window_.out[2] * channels,
                                divisors ? divisors + item % rows * window_.out[2] : divisors);
    }
  }

  // Sums over windows for types that are too narrow to be added in. It adds a piece of a row of inputs at a time in C,
  // and rounds once. addRow(d, h, first, count, sums) must add the terms of row (d, h) of the outputs to inputs [first,
  // first + count).
  template <typename AddRow> void sumRows(T *plane, AddRow addRow) const {
    constexpr int64_t kPiece = 512;
    C sums[kPiece];
    for (int64_t d = 0; d < window_.in[0]; ++d)
      for (int64_t h = 0; h < window_.in[1]; ++h)
        for (int64_t w = 0; w < window_.in[2]; w += kPiece) {
          int64_t first = window_.inIndex(d, h, w), count = std::min(kPiece, window_.in[2] - w);
          std::fill_n(sums, count, C(0));
          window_.forEachReaderRow(d, h, [&](int64_t outD, int64_t outH) { addRow(outD, outH, first, count, sums); });
          for (int64_t i = 0; i < count; ++i)
            plane[first + i] = static_cast<T>(sums[i]);
        }
  }

  // The number of positions that the mean divides by.
  C divisor(int64_t d, int64_t h, int64_t w) const {
    int64_t count = 1, at[3] = {d, h, w};
    for (int dim = 0; dim < 3; ++dim) {
      int64_t pad = shape_.countPad ? 1 : 0;
      auto taps = window_.taps(dim, at[dim], -pad * window_.padLow[dim], window_.in[dim] + pad * window_.padHigh[dim]);
      count *= std::max<int64_t>(taps.last - taps.first, 0);
    }
    return static_cast<C>(std::max<int64_t>(count, 1));
  }

  PoolShape shape_;
  const Window &window_ = shape_.window;
  int threads_;
  int64_t in_, out_;
};

template <typename T> class MaxPool : public PoolKernel<T> {
  using C = typename PoolKernel<T>::C;

public:
  MaxPool(const PoolShape &shape, int threads)
      : PoolKernel<T>(shape, threads), rows_(shape.window), maxima_(shape.window) {}
  std::vector<size_t> bufferBytes() const override { return {this->inBytes(), this->outBytes()}; }
  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *y = static_cast<T *>(buffers[1]);
    if (this->shape_.channelsLast) {
      this->poolRows(x, y, nullptr);
      return Status::ok();
    }
    this->forEachPlane([&](int64_t p) {
      T *next = y + p * this->out_;
      if (rows_.fits())
        return rows_.plane(x + p * this->in_, next);
      maxima_.forEachRun(x + p * this->in_, [&](const MaximaRun<C> &run) {
        for (int64_t i = 0; i < run.count; ++i)
          *next++ = static_cast<T>(run.value[i]);
      });
    });
    return Status::ok();
  }

private:
  RowMaxima<T> rows_;
  WindowMaxima<T> maxima_;
};

template <typename T> class MaxPoolGrad : public PoolKernel<T> {
  using C = typename PoolKernel<T>::C;

public:
  MaxPoolGrad(const PoolShape &shape, int threads) : PoolKernel<T>(shape, threads), maxima_(shape.window) {}
  std::vector<size_t> bufferBytes() const override { return {this->inBytes(), this->outBytes(), this->inBytes()}; }
  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *dy = static_cast<const T *>(buffers[1]);
    auto *dx = static_cast<T *>(buffers[2]);
    this->forEachPlane([&](int64_t p) {
      const T *from = x + p * this->in_, *given = dy + p * this->out_;
      T *plane = dx + p * this->in_;
      if constexpr (sizeof(T) < sizeof(C))
        this->sumRows(plane, [&](int64_t d, int64_t h, int64_t first, int64_t count, C *sums) {
          addRow(from, given, d, h, [&](int64_t at, C share) {
            if (at >= first && at < first + count)
              sums[at - first] += share;
          });
        });
      else {
        std::fill_n(plane, this->in_, T(0));
        for (int64_t d = 0; d < this->window_.out[0]; ++d)
          for (int64_t h = 0; h < this->window_.out[1]; ++h)
            addRow(from, given, d, h, [&](int64_t at, C share) { plane[at] += share; });
      }
    });
    return Status::ok();
  }

private:
  // Calls add(input, gradient) for each output of a row that has a maximum.
  template <typename Add> void addRow(const T *x, const T *dy, int64_t d, int64_t h, Add add) const {
    const T *next = dy + (d * this->window_.out[1] + h) * this->window_.out[2];
    maxima_.forEachRunOfRow(x, d, h, [&](const MaximaRun<C> &run) {
      for (int64_t i = 0; i < run.count; ++i, ++next)
        if (run.tap[i] >= 0)
          add(maxima_.inIndex(run, i), static_cast<C>(*next));
    });
  }

  WindowMaxima<T> maxima_;
};

template <typename T> class AvgPool : public PoolKernel<T> {
  using C = typename PoolKernel<T>::C;

public:
  AvgPool(const PoolShape &shape, int threads) : PoolKernel<T>(shape, threads) {
    if (shape.channelsLast)
      this->window_.forEachOutput(
          [&](int64_t d, int64_t h, int64_t w, int64_t) { divisors_.push_back(this->divisor(d, h, w)); });
  }
  std::vector<size_t> bufferBytes() const override { return {this->inBytes(), this->outBytes()}; }
  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *y = static_cast<T *>(buffers[1]);
    if (this->shape_.channelsLast) {
      this->poolRows(x, y, divisors_.data());
      return Status::ok();
    }
    this->forEachPlane([&](int64_t p) {
      const T *plane = x + p * this->in_;
      this->window_.forEachOutput([&](int64_t d, int64_t h, int64_t w, int64_t o) {
        C sum = 0;
        this->window_.forEachTap(d, h, w, [&](int64_t i, int64_t) { sum += static_cast<C>(plane[i]); });
        y[p * this->out_ + o] = static_cast<T>(sum / this->divisor(d, h, w));
      });
    });
    return Status::ok();
  }

private:
  std::vector<C> divisors_; // of all outputs of a sample; empty if they are not needed
};

template <typename T> class AvgPoolGrad : public PoolKernel<T> {
  using C = typename PoolKernel<T>::C;

public:
  using PoolKernel<T>::PoolKernel;
  std::vector<size_t> bufferBytes() const override { return {this->outBytes(), this->inBytes()}; }
  Status run(void *const *buffers) override {
    auto *dy = static_cast<const T *>(buffers[0]);
    auto *dx = static_cast<T *>(buffers[1]);
    this->forEachPlane([&](int64_t p) {
      const T *given = dy + p * this->out_;
      T *plane = dx + p * this->in_;
      if constexpr (sizeof(T) < sizeof(C))
        this->sumRows(plane, [&](int64_t d, int64_t h, int64_t first, int64_t count, C *sums) {
          addRow(given, d, h, first, count, sums);
        });
      else {
        std::fill_n(plane, this->in_, T(0));
        this->window_.forEachOutput([&](int64_t d, int64_t h, int64_t w, int64_t o) {
          C share = given[o] / this->divisor(d, h, w);
          this->window_.forEachTap(d, h, w, [&](int64_t i, int64_t) { plane[i] += share; });
        });
      }
    });
    return Status::ok();
  }

private:
  // Adds the terms of one row of outputs to the inputs [first, first + count) of one row.
  void addRow(const T *dy, int64_t d, int64_t h, int64_t first, int64_t count, C *sums) const {
    const Window &window = this->window_;
    int64_t begin = first % window.in[2];
    for (int64_t w = 0; w < window.out[2]; ++w) {
      Window::Taps taps = window.taps(2, w, begin, begin + count);
      if (taps.first >= taps.last)
        continue;
      C share = static_cast<C>(dy[(d * window.out[1] + h) * window.out[2] + w]) / this->divisor(d, h, w);
      for (int64_t k = taps.first; k < taps.last; ++k)
        sums[window.position(2, w, k) - begin] += share;
    }
  }
};

template <template <typename> class Kernel>
Status make(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  PoolShape shape;
  CLEAVE_TRY(PoolShape::read(args, &shape));
  return withFloat(args.dtype(), [&](auto type) -> Status {
    *result = std::make_unique<Kernel<typename decltype(type)::type>>(shape, threads);
    return Status::ok();
  });
}

} // namespace

Status makeMaxPool(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make<MaxPool>(args, threads, result);
}
Status makeMaxPoolGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make<MaxPoolGrad>(args, threads, result);
}
Status makeAvgPool(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make<AvgPool>(args, threads, result);
}
Status makeAvgPoolGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result) {
  return make<AvgPoolGrad>(args, threads, result);
}

} // namespace cleave::rt
