// Pools of tensors with channels last: the channels of an output are contiguous, and so are those of each input in its
// window.
#ifndef CLEAVE_KERNELS_POOLING_HOST_CHANNELSLASTPOOL_H
#define CLEAVE_KERNELS_POOLING_HOST_CHANNELSLASTPOOL_H

#include "kernels/common/host/Vectors.h"
#include "kernels/common/host/Window.h"

#include <limits>

namespace cleave::rt {

// Computes outputs (d, h, 0 ...) of a sample; `row` is {d, h}. With `divisors`, one for each output of the row, the
// result is a sum divided by its divisor. Without them it is the maximum: a NaN is the maximum, and padding never is.
template <typename V, typename T>
CLEAVE_VECTOR_CODE void poolRow(const Window *window, int64_t channels, const int64_t *row, const T *x, T *y,
                                const typename V::Number *divisors) {
  using C = typename V::Number;
  constexpr int64_t kBlock = 64;
  Window::Taps td = window->tapsInside(0, row[0]), th = window->tapsInside(1, row[1]);
  for (int64_t w = 0; w < window->out[2]; ++w) {
    Window::Taps tw = window->tapsInside(2, w);
    for (int64_t first = 0; first < channels; first += kBlock) {
      int64_t count = std::min(kBlock, channels - first);
      C total[kBlock];
      for (int64_t i = 0; i < kBlock; ++i)
        total[i] = divisors ? C(0) : -std::numeric_limits<C>::infinity();
      for (int64_t kd = td.first; kd < td.last; ++kd)
        for (int64_t kh = th.first; kh < th.last; ++kh)
          for (int64_t kw = tw.first; kw < tw.last; ++kw) {
            int64_t at = window->inIndex(window->position(0, row[0], kd), window->position(1, row[1], kh),
                                         window->position(2, w, kw));
            const T *from = x + at * channels + first;
            if (divisors)
              for (int64_t i = 0; i < count; ++i)
                total[i] += static_cast<C>(from[i]);
            else
              for (int64_t i = 0; i < count; ++i) {
                C candidate = static_cast<C>(from[i]);
                total[i] = (candidate > total[i]) | (candidate != candidate) ? candidate : total[i];
              }
          }
      for (int64_t i = 0; i < count; ++i)
        *y++ = static_cast<T>(divisors ? total[i] / divisors[w] : total[i]);
    }
  }
}
CLEAVE_FOR_PROCESSOR(poolRow)

} // namespace cleave::rt

#endif
