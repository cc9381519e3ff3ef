// Copies an f32 tensor from one of oneDNN's layouts to another with a different innermost dimension: NCHW and NHWC,
// NCHW and nChw16c, OIHW and OIhw16i16o, in either direction.
//
// If blocked dimensions are split, both layouts are given by strides, and the tensor is a nest of axes with a stride in
// each layout. Rows are axes that are contiguous in `to`, and columns are axes that are contiguous in `from`. Blocks of
// 16 x 16 elements are transposed in registers, and the other axes are loops around them. Example, OIHW to OIhw16i16o
// of a 3x3 kernel:
//
//   axes      O/16    o 16    I/16   i 16   k 9
//   from      16*I*9  I*9     144    9      1        columns: i and k, 144 contiguous elements
//   to        ...     1       ...    16     256      rows: o
//
// oneDNN 2.6 has reorders for all of these. On one thread of a Zen 4, those of weights (512 x 512 x 3 x 3) take 1.3 to
// 2.3 times as long as this one, and those to and from NHWC (64 x 24 x 24) take 3.3 times as long.
#ifndef CLEAVE_KERNELS_COMMON_HOST_TRANSPOSINGREORDER_H
#define CLEAVE_KERNELS_COMMON_HOST_TRANSPOSINGREORDER_H

#include "kernels/common/host/ReorderAxes.h"

#include <optional>

namespace cleave::rt {

class TransposingReorder {
public:
  // Empty if oneDNN's own reorder must be used: types other than f32, padded layouts, layouts with the same innermost
  // dimension, targets without AVX-512.
  static std::optional<TransposingReorder> make(const dnnl::memory::desc &from, const dnnl::memory::desc &to);

  // Uses the calling thread's OpenMP team.
  void run(const float *from, float *to) const;

private:
  // For a run of elements that is contiguous on one side: the offset of each element on the other side.
  using Offsets = std::vector<int64_t>;

  static void addAxis(ReorderAxis axis, std::vector<ReorderAxis> &axes);
  static Offsets takeRun(std::vector<ReorderAxis> &axes, size_t first, int64_t ReorderAxis::*contiguous,
                         int64_t ReorderAxis::*other);

  std::vector<ReorderAxis> loops_;
  Offsets rows_, columns_; // offsets of rows in `from`, and of columns in `to`
};

} // namespace cleave::rt

#endif
