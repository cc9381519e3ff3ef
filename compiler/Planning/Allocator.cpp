#include "compiler/Planning/Allocator.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cleave::plan {

static uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

namespace {
struct Placed {
  uint64_t begin, end;
  Span span;
};
} // namespace

// The start of the smallest gap that holds the request; behind everything when there is none. `placed` is sorted by
// begin.
static uint64_t bestFit(const std::vector<Placed> &placed, const AllocationRequest &request) {
  uint64_t best = 0, bestGap = std::numeric_limits<uint64_t>::max(), free = 0;
  bool found = false;
  for (const Placed &other : placed) {
    if (!other.span.overlaps(request.span))
      continue;
    uint64_t start = alignUp(free, request.alignment);
    if (other.begin >= start && other.begin - start >= request.bytes && other.begin - start < bestGap) {
      best = start;
      bestGap = other.begin - start;
      found = true;
    }
    free = std::max(free, other.end);
  }
  return found ? best : alignUp(free, request.alignment);
}

Allocation allocate(const std::vector<AllocationRequest> &requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });

  Allocation result;
  result.offsets.resize(requests.size());
  std::vector<Placed> placed;
  for (size_t index : order) {
    const AllocationRequest &request = requests[index];
    uint64_t begin = bestFit(placed, request);
    result.offsets[index] = begin;
    result.peak = std::max(result.peak, begin + request.bytes);
    Placed entry{begin, begin + request.bytes, request.span};
    auto behind = [](const Placed &a, const Placed &b) { return a.begin < b.begin; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry, behind), entry);
  }
  return result;
}

} // namespace cleave::plan
