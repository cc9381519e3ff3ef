// The maxima of pooling windows without their positions, for the forward pass. Maxima are first taken over the rows of
// a window, element by element, and then along the one row that remains:
//
//   rows of a 2x2 window     3 1 4 1 5 9      line  3 7 4 8 5 9      y  7 8 9
//                            2 7 1 8 2 8
//
// Most comparisons are in the first part, on whole vectors. Going tap by tap (WindowMaxima.h), each comparison would
// gather every stride-th element. Rows are often short (MNIST's have 12 outputs), so the work that is done once a row
// counts. A plane is one function compiled for the processor's vector length, the rows of each window are known
// beforehand, and loops run in whole vectors. If a window has a NaN, it is the maximum.
#ifndef CLEAVE_KERNELS_POOLING_HOST_ROWMAXIMA_H
#define CLEAVE_KERNELS_POOLING_HOST_ROWMAXIMA_H

#include "kernels/common/host/Window.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace cleave::rt {

// Inlines into functions that are compiled for the processor's vector length.
#define CLEAVE_INLINE inline __attribute__((always_inline))

template <typename T> class RowMaxima;

// RowMaxima::planeInline, compiled for the processor's vector length.
using PlaneMaximaF32 = void (*)(const RowMaxima<float> &maxima, const float *x, float *y);
PlaneMaximaF32 choosePlaneMaximaF32();

template <typename T> class RowMaxima {
  using C = typename ComputeType<T>::type;
  static constexpr int64_t kLine = 1024;                            // inputs of a line that are held at a time
  static constexpr int64_t kLanes = 8;                              // outputs are computed in multiples of this
  typedef C Lanes __attribute__((vector_size(kLanes * sizeof(C)))); // in one register, or several

public:
  explicit RowMaxima(const Window &window)
      : window_(window), span_((window.kernel[2] - 1) * window.dilation[2] + 1), planeF32_(choosePlaneMaximaF32()) {
    if (!fits())
      return;
    run_ = std::min(window.out[2], ((kLine - span_) / window.stride[2] + 1) / kLanes * kLanes);
    for (int64_t d = 0; d < window.out[0]; ++d)
      for (int64_t h = 0; h < window.out[1]; ++h)
        addRow(d, h);
  }

  // True if the windows of kLanes outputs, the number that is computed at once, fit in a line.
  bool fits() const { return span_ <= kLine && (kLanes - 1) * window_.stride[2] <= kLine - span_; }

  void plane(const T *x, T *y) const {
    if constexpr (std::is_same_v<T, float>)
      planeF32_(*this, x, y);
    else
      planeInline(x, y);
  }

  CLEAVE_INLINE void planeInline(const T *x, T *y) const {
    const T *end = y + window_.outSize();
    for (size_t row = 0; row + 1 < begins_.size(); ++row)
      for (int64_t w = 0; w < window_.out[2]; w += run_) {
        part(x, row, w, y, end);
        y += std::min(run_, window_.out[2] - w);
      }
  }

private:
  // Adds the input rows that are in the windows of a row of outputs.
  void addRow(int64_t d, int64_t h) {
    Window::Taps td = window_.tapsInside(0, d), th = window_.tapsInside(1, h);
    for (int64_t kd = td.first; kd < td.last; ++kd)
      for (int64_t kh = th.first; kh < th.last; ++kh)
        inputs_.push_back(window_.inIndex(window_.position(0, d, kd), window_.position(1, h, kh), 0));
    begins_.push_back(inputs_.size());
  }

  // Computes outputs [w, w + run) of a row. If the last vector is incomplete, its extra elements are written too, and
  // the next rows overwrite them.
  CLEAVE_INLINE void part(const T *x, size_t row, int64_t w, T *y, const T *end) const {
    C line[kLine];
    int64_t count = std::min(run_, window_.out[2] - w), stride = window_.stride[2];
    int64_t made = (count + kLanes - 1) / kLanes * kLanes, length = (made - 1) * stride + span_;
    int64_t origin = window_.position(2, w, 0), first = std::clamp<int64_t>(-origin, 0, length);
    int64_t last = std::clamp(window_.in[2] - origin, first, length);
    std::fill_n(line, first, lowest());
    maximaOfRows(x, row, origin, first, last, line);
    std::fill(line + last, line + length, lowest());
    if (stride == 1)
      maximaOfLine<1>(line, count, y, end);
    else if (stride == 2)
      maximaOfLine<2>(line, count, y, end);
    else
      maximaOfLine<0>(line, count, y, end);
  }

  // Computes elements [first, last) of a line that begins at column `origin`.
  CLEAVE_INLINE void maximaOfRows(const T *x, size_t row, int64_t origin, int64_t first, int64_t last, C *line) const {
    const int64_t *begin = inputs_.data() + begins_[row], *end = inputs_.data() + begins_[row + 1];
    int64_t i = first;
    for (; i + kLanes <= last; i += kLanes) {
      Lanes best = Lanes{} + lowest();
      for (const int64_t *input = begin; input != end; ++input)
        meetLanes<1>(x + (*input + origin + i), 1, best);
      std::memcpy(line + i, &best, sizeof(best));
    }
    for (; i < last; ++i) {
      C best = lowest();
      for (const int64_t *input = begin; input != end; ++input)
        meet(static_cast<C>(x[*input + origin + i]), best);
      line[i] = best;
    }
  }

  // `Stride` 0 means the window's stride. With a constant stride, the compiler loads whole vectors and shuffles them.
  template <int Stride> CLEAVE_INLINE void maximaOfLine(const C *line, int64_t count, T *y, const T *end) const {
    int64_t stride = Stride ? Stride : window_.stride[2];
    for (int64_t i = 0; i < count; i += kLanes, y += kLanes) {
      Lanes best = Lanes{} + lowest();
      for (int64_t kw = 0; kw < window_.kernel[2]; ++kw)
        meetLanes<Stride>(line + i * stride + kw * window_.dilation[2], stride, best);
      int64_t room = std::min<int64_t>(end - y, kLanes);
      if (std::is_same_v<T, C> && room == kLanes)
        std::memcpy(y, &best, sizeof(best));
      else
        for (int64_t lane = 0; lane < room; ++lane)
          y[lane] = static_cast<T>(best[lane]);
    }
  }

  static constexpr C lowest() { return -std::numeric_limits<C>::infinity(); }

  // For values, or lane by lane.
  template <typename V> static CLEAVE_INLINE void meet(const V &candidate, V &best) {
    best = (candidate > best) | (candidate != candidate) ? candidate : best;
  }

  template <int Stride, typename From> static CLEAVE_INLINE void meetLanes(const From *x, int64_t stride, Lanes &best) {
    Lanes lanes;
    if constexpr (Stride == 1 && std::is_same_v<From, C>) {
      std::memcpy(&lanes, x, sizeof(lanes));
    } else if constexpr (Stride == 2) {
      Lanes next;
      std::memcpy(&lanes, x, sizeof(lanes));
      std::memcpy(&next, x + kLanes - 1, sizeof(next)); // ends with the last element that is needed
      lanes = __builtin_shufflevector(lanes, next, 0, 2, 4, 6, 9, 11, 13, 15);
    } else {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = static_cast<C>(x[lane * stride]);
    }
    meet(lanes, best);
  }

  Window window_;
  int64_t span_, run_ = 1;
  std::vector<int64_t> inputs_;      // of all rows, one row after the other
  std::vector<size_t> begins_ = {0}; // where each row begins in inputs_, and the end of the last
  PlaneMaximaF32 planeF32_;
};

} // namespace cleave::rt

#endif
