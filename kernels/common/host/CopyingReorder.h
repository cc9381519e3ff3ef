// Copies an f32 tensor from one of oneDNN's layouts to another, if both keep the same runs of elements contiguous.
// Examples are some columns of a matrix to a matrix of their own, and a matrix by rows to blocks of 64 columns.
//
//   if (auto copy = CopyingReorder::make(from, to))
//     copy->run(source, target);
//
// oneDNN 2.6 has reorders for these too. The following are ratios of processor time, oneDNN's reorder to this one, on
// one core of a Zen 5 with other work on the machine: 1.8 for 768 columns of [2048, 3072]; to blocks, 2 for [768,
// 3072], and 1.1 to 1.5 for [512, 768] and [768, 768].
#ifndef CLEAVE_KERNELS_COMMON_HOST_COPYINGREORDER_H
#define CLEAVE_KERNELS_COMMON_HOST_COPYINGREORDER_H

#include "kernels/common/host/ReorderAxes.h"

#include <optional>

namespace cleave::rt {

class CopyingReorder {
public:
  // Empty if oneDNN's own reorder must be used: other types, padded layouts, runs of fewer than 64 elements.
  static std::optional<CopyingReorder> make(const dnnl::memory::desc &from, const dnnl::memory::desc &to);

  // Uses the calling thread's OpenMP team.
  void run(const float *from, float *to) const;

private:
  int64_t run_ = 1;                // elements that are contiguous in both layouts
  std::vector<ReorderAxis> loops_; // around a run, the outermost first, in the order of `to` in memory
};

} // namespace cleave::rt

#endif
