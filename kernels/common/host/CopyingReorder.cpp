#include "kernels/common/host/CopyingReorder.h"

#include "kernels/common/host/Types.h"

#include <algorithm>
#include <cstring>

namespace cleave::rt {

static constexpr int64_t kShortestRun = 64;

std::optional<CopyingReorder> CopyingReorder::make(const dnnl::memory::desc &from, const dnnl::memory::desc &to) {
  std::vector<ReorderAxis> axes = reorderAxes(from, to);
  std::sort(axes.begin(), axes.end(), [](const ReorderAxis &a, const ReorderAxis &b) { return a.to < b.to; });
  CopyingReorder result;
  for (const ReorderAxis &axis : axes) { // from the innermost on
    ReorderAxis *inner = result.loops_.empty() ? nullptr : &result.loops_.front();
    if (!inner && axis.from == result.run_ && axis.to == result.run_)
      result.run_ *= axis.size;
    else if (inner && axis.from == inner->size * inner->from && axis.to == inner->size * inner->to)
      inner->size *= axis.size;
    else
      result.loops_.insert(result.loops_.begin(), axis);
  }
  if (result.run_ < kShortestRun)
    return std::nullopt;
  if (result.loops_.empty())
    result.loops_.push_back({1, 0, 0});
  return result;
}

void CopyingReorder::run(const float *from, float *to) const {
  const ReorderAxis &inner = loops_.back();
  int64_t outer = 1;
  for (size_t i = 0; i + 1 < loops_.size(); ++i)
    outer *= loops_[i].size;
  auto bytes = static_cast<size_t>(run_) * sizeof(float);
  bool isParallel = static_cast<size_t>(outer * inner.size) * bytes > kParallelBytes;
#pragma omp parallel for collapse(2) if (isParallel)
  for (int64_t task = 0; task < outer; ++task)
    for (int64_t i = 0; i < inner.size; ++i) {
      int64_t rest = task, source = i * inner.from, target = i * inner.to;
      for (size_t axis = loops_.size() - 1; axis-- > 0; rest /= loops_[axis].size) {
        source += rest % loops_[axis].size * loops_[axis].from;
        target += rest % loops_[axis].size * loops_[axis].to;
      }
      std::memcpy(to + target, from + source, bytes);
    }
}

} // namespace cleave::rt
