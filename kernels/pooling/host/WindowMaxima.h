// Finds the position of the maximum of each pooling window, for runs of outputs along the last dimension, tap after
// tap.
//
// The plain way, window after window, has a branch at each tap and cannot be vectorized. Here the inner loop goes along
// a row of outputs for one tap, without branches:
//
//   for i in the run:
//     better = x[i * stride] > value[i] ...
//     value[i] = better ? x[i * stride] : value[i]
//     tap[i] = better ? k : tap[i]
//
// Taps are in row-major order, so the first of equal maxima wins, and so does the first NaN. If the whole window is in
// the padding, its tap is -1 and its value -infinity.
#ifndef CLEAVE_KERNELS_POOLING_HOST_WINDOWMAXIMA_H
#define CLEAVE_KERNELS_POOLING_HOST_WINDOWMAXIMA_H

#include "kernels/common/host/Window.h"
#include "runtime/base/HalfArrays.h"

#include <limits>

namespace cleave::rt {

// Maxima of `count` neighbouring outputs.
template <typename C> struct MaximaRun {
  static constexpr int64_t kLongest = 128;
  int64_t origin; // input index of tap 0 of the first output; may be outside
  int64_t count;
  C value[kLongest];
  int32_t tap[kLongest]; // numbered as in Window::forEachTap
};

// Updates the maxima with tap number `tap`, whose inputs are `stride` apart.
template <typename T, typename C>
inline __attribute__((always_inline)) void meetTap(const T *__restrict x, int64_t stride, int64_t count, int32_t tap,
                                                   C *__restrict value, int32_t *__restrict taps) {
  for (int64_t i = 0; i < count; ++i) {
    C candidate = static_cast<C>(x[i * stride]), best = value[i];
    bool better = (taps[i] < 0) | (candidate > best) | ((candidate != candidate) & (best == best));
    value[i] = better ? candidate : best;
    taps[i] = better ? tap : taps[i];
  }
}

// The same, compiled for the processor's vector length.
using MeetTapF32 = void (*)(const float *x, int64_t stride, int64_t count, int32_t tap, float *value, int32_t *taps);
MeetTapF32 chooseMeetTapF32();

template <typename T> class WindowMaxima {
public:
  using C = typename ComputeType<T>::type;
  using Run = MaximaRun<C>;

  explicit WindowMaxima(const Window &window) : window_(window), meetF32_(chooseMeetTapF32()) {
    for (int64_t d = 0; d < window.kernel[0]; ++d)
      for (int64_t h = 0; h < window.kernel[1]; ++h)
        for (int64_t w = 0; w < window.kernel[2]; ++w)
          offsets_.push_back(window.inIndex(d * window.dilation[0], h * window.dilation[1], w * window.dilation[2]));
  }

  // Calls visit(run) for all outputs of a plane, row-major.
  template <typename Visit> void forEachRun(const T *plane, Visit visit) const {
    for (int64_t d = 0; d < window_.out[0]; ++d)
      for (int64_t h = 0; h < window_.out[1]; ++h)
        forEachRunOfRow(plane, d, h, visit);
  }

  // The same for one row of outputs.
  template <typename Visit> void forEachRunOfRow(const T *plane, int64_t d, int64_t h, Visit visit) const {
    Run run;
    for (int64_t w = 0; w < window_.out[2]; w += Run::kLongest) {
      fill(plane, d, h, w, &run);
      visit(static_cast<const Run &>(run));
    }
  }

  // Input index of the i-th maximum of a run; its tap must not be -1.
  int64_t inIndex(const Run &run, int64_t i) const {
    return run.origin + i * window_.stride[2] + offsets_[static_cast<size_t>(run.tap[i])];
  }

private:
  void fill(const T *plane, int64_t d, int64_t h, int64_t w, Run *run) const {
    run->origin = window_.inIndex(window_.position(0, d, 0), window_.position(1, h, 0), window_.position(2, w, 0));
    run->count = std::min(Run::kLongest, window_.out[2] - w);
    std::fill_n(run->value, run->count, -std::numeric_limits<C>::infinity());
    std::fill_n(run->tap, run->count, -1);
    Window::Taps td = window_.tapsInside(0, d), th = window_.tapsInside(1, h);
    for (int64_t kd = td.first; kd < td.last; ++kd)
      for (int64_t kh = th.first; kh < th.last; ++kh)
        for (int64_t kw = 0; kw < window_.kernel[2]; ++kw)
          meet(plane, w, static_cast<int32_t>((kd * window_.kernel[1] + kh) * window_.kernel[2] + kw), kw, run);
  }

  // Updates the outputs of the run for which this tap is not in the padding.
  void meet(const T *plane, int64_t w, int32_t tap, int64_t kw, Run *run) const {
    int64_t stride = window_.stride[2], start = window_.position(2, w, kw);
    int64_t first = start >= 0 ? 0 : (-start + stride - 1) / stride;
    int64_t last = start >= window_.in[2] ? 0 : (window_.in[2] - start + stride - 1) / stride;
    int64_t count = std::min(last, run->count) - first;
    if (count <= 0)
      return;
    const T *x = plane + (run->origin + offsets_[static_cast<size_t>(tap)] + first * stride);
    if constexpr (std::is_same_v<T, float>)
      meetF32_(x, stride, count, tap, run->value + first, run->tap + first);
    else if constexpr (sizeof(T) == 2)
      meetNarrow(x, stride, count, tap, run->value + first, run->tap + first);
    else
      meetTap(x, stride, count, tap, run->value + first, run->tap + first);
  }

  // 16-bit inputs are widened first, including those between the taps.
  void meetNarrow(const T *x, int64_t stride, int64_t count, int32_t tap, float *value, int32_t *taps) const {
    constexpr int64_t kMaxStride = 4;
    float wide[Run::kLongest * kMaxStride];
    if (stride > kMaxStride)
      return meetTap(x, stride, count, tap, value, taps);
    widen(x, wide, static_cast<size_t>((count - 1) * stride + 1));
    meetF32_(wide, stride, count, tap, value, taps);
  }

  Window window_;
  MeetTapF32 meetF32_;
  std::vector<int64_t> offsets_; // of each tap from tap 0
};

} // namespace cleave::rt

#endif
