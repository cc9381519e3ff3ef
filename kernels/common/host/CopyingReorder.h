// Copies an f32 tensor from one of oneDNN's layouts to another in which the same runs of elements lie together: some
// columns of a matrix to a matrix of their own, or a matrix by rows to blocks of 64 columns.
//
//   if (auto copy = CopyingReorder::make(from, to))
//     copy->run(source, target);
//
// oneDNN 2.6 has reorders for these. In time of the processor on one core of a Zen 5 (other work beside it) they take,
// of 768 columns of [2048, 3072], 1.8 times as long as this one; to blocks, of [768, 3072] 2 times, of [512, 768] and
// [768, 768] 1.1 to 1.5 times.
#ifndef CLEAVE_KERNELS_COMMON_HOST_COPYINGREORDER_H
#define CLEAVE_KERNELS_COMMON_HOST_COPYINGREORDER_H

#include "kernels/common/host/ReorderAxes.h"

#include <optional>

namespace cleave::rt {

class CopyingReorder {
public:
  // Empty where oneDNN's own reorder serves: other types, padded layouts, runs of fewer than 64 elements.
  static std::optional<CopyingReorder> make(const dnnl::memory::desc &from, const dnnl::memory::desc &to);

  // On the calling thread's OpenMP team.
  void run(const float *from, float *to) const;

private:
  int64_t run_ = 1;                // elements that lie together in both
  std::vector<ReorderAxis> loops_; // around a run, the outermost first; in the order in which `to` lies in memory
};

} // namespace cleave::rt

#endif
