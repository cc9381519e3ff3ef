// The maxima of pooling windows without their places, for the forward pass: first over the windows' rows, whose
// elements lie side by side, then along the one row that remains.
//
//   rows of a 2x2 window     3 1 4 1 5 9      line  3 7 4 8 5 9      y  7 8 9
//                            2 7 1 8 2 8
//
// Most comparisons are in the first part, on whole vectors; tap by tap (WindowMaxima.h) each would gather every
// stride-th element. A NaN in a window is its maximum.
#ifndef CLEAVE_KERNELS_POOLING_HOST_ROWMAXIMA_H
#define CLEAVE_KERNELS_POOLING_HOST_ROWMAXIMA_H

#include "kernels/common/host/Window.h"

#include <limits>
#include <type_traits>

namespace cleave::rt {

// value[i] = max(value[i], x[i * stride]).
template <typename T, typename C>
inline __attribute__((always_inline)) void meetValues(const T *__restrict x, int64_t stride, int64_t count,
                                                      C *__restrict value) {
  for (int64_t i = 0; i < count; ++i) {
    C candidate = static_cast<C>(x[i * stride]), best = value[i];
    value[i] = (candidate > best) | (candidate != candidate) ? candidate : best;
  }
}

// The same, compiled for the processor's vector length.
using MeetValuesF32 = void (*)(const float *x, int64_t stride, int64_t count, float *value);
MeetValuesF32 chooseMeetValuesF32();

template <typename T> class RowMaxima {
  using C = typename ComputeType<T>::type;
  static constexpr int64_t kLine = 1024; // inputs of a line that are held at a time

public:
  explicit RowMaxima(const Window &window)
      : window_(window), span_((window.kernel[2] - 1) * window.dilation[2] + 1),
        run_(std::min(window.out[2], (kLine - span_) / window.stride[2] + 1)), meetF32_(chooseMeetValuesF32()) {}

  // Windows wider than a line are not for this class.
  bool fits() const { return span_ <= kLine; }

  void plane(const T *x, T *y) const {
    for (int64_t d = 0; d < window_.out[0]; ++d)
      for (int64_t h = 0; h < window_.out[1]; ++h)
        for (int64_t w = 0; w < window_.out[2]; w += run_)
          y = row(x, d, h, w, y);
  }

private:
  template <typename From> void meet(const From *x, int64_t stride, int64_t count, C *value) const {
    if constexpr (std::is_same_v<From, float>)
      meetF32_(x, stride, count, value);
    else
      meetValues(x, stride, count, value);
  }

  // Outputs [w, w + run) of a row; returns where the next ones go.
  T *row(const T *x, int64_t d, int64_t h, int64_t w, T *y) const {
    C line[kLine], value[kLine];
    int64_t count = std::min(run_, window_.out[2] - w), stride = window_.stride[2];
    int64_t origin = window_.position(2, w, 0), first = std::max<int64_t>(origin, 0);
    int64_t last = std::min(origin + (count - 1) * stride + span_, window_.in[2]);
    std::fill_n(line, (count - 1) * stride + span_, -std::numeric_limits<C>::infinity());
    Window::Taps td = window_.tapsInside(0, d), th = window_.tapsInside(1, h);
    if (first < last)
      for (int64_t kd = td.first; kd < td.last; ++kd)
        for (int64_t kh = th.first; kh < th.last; ++kh)
          meet(x + window_.inIndex(window_.position(0, d, kd), window_.position(1, h, kh), first), 1, last - first,
               line + (first - origin));
    std::fill_n(value, count, -std::numeric_limits<C>::infinity());
    for (int64_t kw = 0; kw < window_.kernel[2]; ++kw)
      meet(static_cast<const C *>(line + kw * window_.dilation[2]), stride, count, value);
    return std::transform(value, value + count, y, [](C best) { return static_cast<T>(best); });
  }

  Window window_;
  int64_t span_, run_;
  MeetValuesF32 meetF32_;
};

} // namespace cleave::rt

#endif
