#include "compiler/Planning/Draft/Allocator.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace cleave::plan {

static uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

namespace {
struct Placed {
  uint64_t begin, end;
  Span span;
};
} // namespace

// Returns the start of the smallest gap that holds the request. If there is none, returns the aligned end of all
// buffers that live at the same time. `placed` is sorted by begin.
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

namespace {
// The free bytes below the highest end so far, as gaps, by their begin. Adjacent gaps are joined.
class FreeBytes {
public:
  uint64_t take(uint64_t bytes, uint64_t alignment) {
    // Take the smallest gap that fits: taking large gaps first would cut them up.
    for (auto gap = bySize.lower_bound({bytes, 0}); gap != bySize.end(); ++gap) {
      auto [size, begin] = *gap;
      uint64_t start = alignUp(begin, alignment);
      if (start - begin > size || size - (start - begin) < bytes)
        continue;
      remove(begin, size);
      add(begin, start - begin);
      add(start + bytes, begin + size - start - bytes);
      return start;
    }
    uint64_t start = alignUp(end, alignment);
    add(end, start - end);
    end = start + bytes;
    return start;
  }
  void give(uint64_t begin, uint64_t bytes) {
    auto after = byBegin.lower_bound(begin);
    if (after != byBegin.end() && after->first == begin + bytes) {
      bytes += after->second;
      remove(after->first, after->second);
    }
    after = byBegin.lower_bound(begin);
    if (after != byBegin.begin())
      if (auto before = std::prev(after); before->first + before->second == begin) {
        begin = before->first;
        bytes += before->second;
        remove(before->first, before->second);
      }
    add(begin, bytes);
  }

private:
  void add(uint64_t begin, uint64_t bytes) {
    if (bytes == 0)
      return;
    byBegin[begin] = bytes;
    bySize.insert({bytes, begin});
  }
  void remove(uint64_t begin, uint64_t bytes) {
    byBegin.erase(begin);
    bySize.erase({bytes, begin});
  }

  std::map<uint64_t, uint64_t> byBegin;
  std::set<std::pair<uint64_t, uint64_t>> bySize;
  uint64_t end = 0;
};
} // namespace

// Places requests in the order of time, in n log n. This is for so many buffers that comparing each with all others
// takes longer than a few percent of memory are worth. It does not use Span::begin and Span::end, only positions.
static MemoryLayout allocateInOrder(const std::vector<AllocationRequest> &requests) {
  std::vector<size_t> begins(requests.size());
  std::iota(begins.begin(), begins.end(), size_t{0});
  std::vector<size_t> ends = begins;
  std::stable_sort(begins.begin(), begins.end(),
                   [&](size_t a, size_t b) { return requests[a].span.first < requests[b].span.first; });
  std::stable_sort(ends.begin(), ends.end(),
                   [&](size_t a, size_t b) { return requests[a].span.last < requests[b].span.last; });
  MemoryLayout result;
  result.offsets.resize(requests.size());
  FreeBytes free;
  size_t ended = 0;
  for (size_t index : begins) {
    const AllocationRequest &request = requests[index];
    for (; requests[ends[ended]].span.last < request.span.first; ++ended)
      free.give(result.offsets[ends[ended]], requests[ends[ended]].bytes);
    result.offsets[index] = free.take(request.bytes, request.alignment);
    result.peak = std::max(result.peak, result.offsets[index] + request.bytes);
  }
  return result;
}

MemoryLayout allocate(const std::vector<AllocationRequest> &requests) {
  constexpr size_t kManyRequests = 1 << 14;
  if (requests.size() > kManyRequests)
    return allocateInOrder(requests);
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });

  MemoryLayout result;
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
