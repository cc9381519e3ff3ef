// The geometry of a pooling or convolution window. It always has three spatial dimensions: lower ranks get leading
// dimensions of size 1, so that each kernel is written only once.
#ifndef CLEAVE_KERNELS_COMMON_HOST_WINDOW_H
#define CLEAVE_KERNELS_COMMON_HOST_WINDOW_H

#include "kernels/common/host/Types.h"

#include <algorithm>
#include <array>

namespace cleave::rt {

struct Window {
  using Dims = std::array<int64_t, 3>;
  Dims in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padLow{}, padHigh{};

  static Status read(const KernelArgs &args, Window *result);

  int64_t inSize() const { return in[0] * in[1] * in[2]; }
  int64_t outSize() const { return out[0] * out[1] * out[2]; }
  int64_t kernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t inIndex(int64_t d, int64_t h, int64_t w) const { return (d * in[1] + h) * in[2] + w; }

  // The input position of tap `k` of output `o` on one dimension. It may be in the padding.
  int64_t position(int dim, int64_t o, int64_t k) const { return o * stride[dim] - padLow[dim] + k * dilation[dim]; }

  // Taps [first, last) of output `o` whose input positions are in [low, high).
  struct Taps {
    int64_t first, last;
  };
  Taps taps(int dim, int64_t o, int64_t low, int64_t high) const {
    int64_t start = o * stride[dim] - padLow[dim], step = dilation[dim];
    int64_t first = start >= low ? 0 : (low - start + step - 1) / step;
    int64_t last = start >= high ? 0 : (high - start + step - 1) / step;
    return {std::min(first, kernel[dim]), std::min(last, kernel[dim])};
  }
  Taps tapsInside(int dim, int64_t o) const { return taps(dim, o, 0, in[dim]); }

  // Calls `visit(input index, kernel index)` for each tap of output (d, h, w) that is not in the padding, row-major.
  template <typename Visit> void forEachTap(int64_t d, int64_t h, int64_t w, Visit visit) const {
    Taps td = tapsInside(0, d), th = tapsInside(1, h), tw = tapsInside(2, w);
    for (int64_t kd = td.first; kd < td.last; ++kd)
      for (int64_t kh = th.first; kh < th.last; ++kh)
        for (int64_t kw = tw.first; kw < tw.last; ++kw)
          visit(inIndex(position(0, d, kd), position(1, h, kh), position(2, w, kw)),
                (kd * kernel[1] + kh) * kernel[2] + kw);
  }

  // The output whose tap `k` reads input `at` of a dimension; -1 if there is none.
  int64_t readerOf(int dim, int64_t at, int64_t k) const {
    int64_t start = at + padLow[dim] - k * dilation[dim], o = start / stride[dim];
    return start >= 0 && start % stride[dim] == 0 && o < out[dim] ? o : -1;
  }

  // Calls `visit(d, h)` for each row of outputs that reads row (inD, inH) of the inputs, in ascending order.
  template <typename Visit> void forEachReaderRow(int64_t inD, int64_t inH, Visit visit) const {
    for (int64_t kd = kernel[0] - 1; kd >= 0; --kd)
      for (int64_t kh = kernel[1] - 1; kh >= 0; --kh)
        if (int64_t d = readerOf(0, inD, kd), h = readerOf(1, inH, kh); d >= 0 && h >= 0)
          visit(d, h);
  }

  // Calls `visit(d, h, w, output index)` for each output, row-major.
  template <typename Visit> void forEachOutput(Visit visit) const {
    int64_t index = 0;
    for (int64_t d = 0; d < out[0]; ++d)
      for (int64_t h = 0; h < out[1]; ++h)
        for (int64_t w = 0; w < out[2]; ++w)
          visit(d, h, w, index++);
  }
};

} // namespace cleave::rt

#endif
