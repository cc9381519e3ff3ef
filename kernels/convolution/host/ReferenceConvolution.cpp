#include "kernels/convolution/host/Convolution.h"

namespace cleave::rt {

namespace {

// The base of the three kernels: sizes, and the channels of a group.
template <typename T> class ReferenceConvolution : public HostKernel {
protected:
  using Sum = typename ComputeType<T>::type;

  ReferenceConvolution(const ConvolutionShape &shape, int threads)
      : s_(shape), threads_(threads), in_(w_.inSize()), out_(w_.outSize()), taps_(w_.kernelSize()),
        groupIn_(s_.ic / s_.groups), groupOut_(s_.oc / s_.groups) {}

  int64_t firstInput(int64_t outChannel) const { return outChannel / groupOut_ * groupIn_; }

  ConvolutionShape s_;
  const Window &w_ = s_.window;
  int threads_;
  int64_t in_, out_, taps_, groupIn_, groupOut_;
};

template <typename T> class Forward : public ReferenceConvolution<T> {
public:
  using Base = ReferenceConvolution<T>;
  using typename Base::Sum;
  Forward(const ConvolutionShape &shape, int threads) : Base(shape, threads) {}

  std::vector<size_t> bufferBytes() const override {
    return {this->s_.xBytes(), this->s_.wBytes(), this->s_.yBytes(), 0};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *weights = static_cast<const T *>(buffers[1]);
    auto *y = static_cast<T *>(buffers[2]);
#pragma omp parallel for collapse(2) num_threads(this->threads_)
    for (int64_t n = 0; n < this->s_.n; ++n)
      for (int64_t oc = 0; oc < this->s_.oc; ++oc) {
        Steps in = stepsOf(this->s_.ic, this->in_), out = stepsOf(this->s_.oc, this->out_);
        plane(x + n * this->s_.ic * this->in_ + this->firstInput(oc) * in.channel, in,
              weights + oc * this->groupIn_ * this->taps_, y + n * this->s_.oc * this->out_ + oc * out.channel, out);
      }
    return Status::ok();
  }

private:
  // Distances from one channel of a sample to the next, and from one position to the next.
  struct Steps {
    int64_t channel, position;
  };
  Steps stepsOf(int64_t channels, int64_t positions) const {
    return this->s_.channelsLast ? Steps{1, channels} : Steps{positions, 1};
  }

  void plane(const T *x, Steps in, const T *weights, T *y, Steps out) const {
    this->w_.forEachOutput([&](int64_t d, int64_t h, int64_t w, int64_t o) {
      Sum sum = 0;
      for (int64_t c = 0; c < this->groupIn_; ++c)
        this->w_.forEachTap(d, h, w, [&](int64_t i, int64_t k) {
          sum += static_cast<Sum>(x[c * in.channel + i * in.position]) *
                 static_cast<Sum>(weights[c * this->taps_ + k]);
        });
      y[o * out.position] = static_cast<T>(sum);
    });
  }
};

// dx[i] is the sum over the outputs whose window contains i. It is gathered, by the inverse of position(), so each
// element is summed by one thread in one order, and rounded once.
template <typename T> class InputGrad : public ReferenceConvolution<T> {
public:
  using Base = ReferenceConvolution<T>;
  using typename Base::Sum;
  InputGrad(const ConvolutionShape &shape, int threads) : Base(shape, threads) {}

  std::vector<size_t> bufferBytes() const override {
    return {this->s_.yBytes(), this->s_.wBytes(), this->s_.xBytes(), 0};
  }

  Status run(void *const *buffers) override {
    auto *dy = static_cast<const T *>(buffers[0]);
    auto *weights = static_cast<const T *>(buffers[1]);
    auto *dx = static_cast<T *>(buffers[2]);
    const Window &w = this->w_;
#pragma omp parallel for collapse(2) num_threads(this->threads_)
    for (int64_t n = 0; n < this->s_.n; ++n)
      for (int64_t ic = 0; ic < this->s_.ic; ++ic) {
        T *plane = dx + (n * this->s_.ic + ic) * this->in_;
        for (int64_t d = 0; d < w.in[0]; ++d)
          for (int64_t h = 0; h < w.in[1]; ++h)
            for (int64_t i = 0; i < w.in[2]; ++i)
              plane[w.inIndex(d, h, i)] = element(dy + n * this->s_.oc * this->out_, weights, ic, {d, h, i});
      }
    return Status::ok();
  }

private:
  T element(const T *dy, const T *weights, int64_t ic, Window::Dims at) const {
    const Window &w = this->w_;
    int64_t group = ic / this->groupIn_;
    Sum sum = 0;
    for (int64_t kd = 0; kd < w.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < w.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < w.kernel[2]; ++kw) {
          int64_t d = w.readerOf(0, at[0], kd), h = w.readerOf(1, at[1], kh), o = w.readerOf(2, at[2], kw);
          if (d < 0 || h < 0 || o < 0)
            continue;
          int64_t tap = (kd * w.kernel[1] + kh) * w.kernel[2] + kw, out = (d * w.out[1] + h) * w.out[2] + o;
          for (int64_t oc = group * this->groupOut_; oc < (group + 1) * this->groupOut_; ++oc)
            sum += static_cast<Sum>(dy[oc * this->out_ + out]) *
                   static_cast<Sum>(weights[(oc * this->groupIn_ + ic % this->groupIn_) * this->taps_ + tap]);
        }
    return static_cast<T>(sum);
  }
};

template <typename T> class WeightGrad : public ReferenceConvolution<T> {
public:
  using Base = ReferenceConvolution<T>;
  using typename Base::Sum;
  WeightGrad(const ConvolutionShape &shape, int threads) : Base(shape, threads) {}

  std::vector<size_t> bufferBytes() const override {
    return {this->s_.xBytes(), this->s_.yBytes(), this->s_.wBytes(), 0};
  }

  Status run(void *const *buffers) override {
    auto *x = static_cast<const T *>(buffers[0]);
    auto *dy = static_cast<const T *>(buffers[1]);
    auto *dw = static_cast<T *>(buffers[2]);
#pragma omp parallel for collapse(2) num_threads(this->threads_)
    for (int64_t oc = 0; oc < this->s_.oc; ++oc)
      for (int64_t c = 0; c < this->groupIn_; ++c)
        for (int64_t k = 0; k < this->taps_; ++k)
          dw[(oc * this->groupIn_ + c) * this->taps_ + k] = element(x, dy, oc, this->firstInput(oc) + c, k);
    return Status::ok();
  }

private:
  T element(const T *x, const T *dy, int64_t oc, int64_t ic, int64_t tap) const {
    const Window &w = this->w_;
    Window::Dims k = {tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
    Sum sum = 0;
    for (int64_t n = 0; n < this->s_.n; ++n) {
      const T *input = x + (n * this->s_.ic + ic) * this->in_, *output = dy + (n * this->s_.oc + oc) * this->out_;
      w.forEachOutput([&](int64_t d, int64_t h, int64_t o, int64_t out) {
        int64_t id = w.position(0, d, k[0]), ih = w.position(1, h, k[1]), iw = w.position(2, o, k[2]);
        if (id >= 0 && id < w.in[0] && ih >= 0 && ih < w.in[1] && iw >= 0 && iw < w.in[2])
          sum += static_cast<Sum>(input[w.inIndex(id, ih, iw)]) * static_cast<Sum>(output[out]);
      });
    }
    return static_cast<T>(sum);
  }
};

} // namespace

Status makeReferenceConvolution(ConvolutionKind kind, const ConvolutionShape &shape, int threads,
                                std::unique_ptr<HostKernel> *result) {
  return withFloat(shape.dtype, [&](auto type) -> Status {
    using T = typename decltype(type)::type;
    if (kind == ConvolutionKind::Forward)
      *result = std::make_unique<Forward<T>>(shape, threads);
    else if (kind == ConvolutionKind::InputGrad)
      *result = std::make_unique<InputGrad<T>>(shape, threads);
    else
      *result = std::make_unique<WeightGrad<T>>(shape, threads);
    return Status::ok();
  });
}

} // namespace cleave::rt
