#include "compiler/Planning/MemoryHistory.h"

#include <algorithm>

namespace cleave::plan {

void MemoryHistory::split(uint64_t at) {
  auto next = cells_.upper_bound(at);
  if (next == cells_.begin())
    return;
  auto cell = std::prev(next);
  if (cell->first == at || cell->second.end <= at)
    return;
  Cell upper = cell->second;
  cell->second.end = at;
  cells_.emplace_hint(next, at, std::move(upper));
}

void MemoryHistory::recordRead(uint64_t begin, uint64_t end, const Moment &moment) {
  auto [first, last] = range(begin, end);
  for (auto cell = first; cell != last; ++cell) {
    std::vector<Moment> &readers = cell->second.readers;
    auto same =
        std::find_if(readers.begin(), readers.end(), [&](const Moment &m) { return m.stream == moment.stream; });
    if (same == readers.end())
      readers.push_back(moment);
    else
      *same = moment;
  }
}

void MemoryHistory::recordWrite(uint64_t begin, uint64_t end, const Moment &moment, AxisMask varies) {
  auto [first, last] = range(begin, end);
  if (first == last)
    return;
  cells_.erase(first, last);
  cells_[begin] = {end, true, {}, varies, moment, {}};
}

void MemoryHistory::recordShareWrite(uint64_t begin, uint64_t end, const Moment &moment, const ShareRange &share) {
  auto same = [&](const ShareRange &other) {
    return other.group == share.group && other.stride == share.stride && other.begin == share.begin &&
           other.end == share.end;
  };
  auto [first, last] = range(begin, end);
  for (auto cell = first; cell != last; ++cell) {
    cell->second.varies |= share.varies; // the other ranks' bytes stay
    cell->second.writer = moment;
    cell->second.readers.clear();
    std::vector<ShareRange> &shares = cell->second.shares;
    shares.erase(std::remove_if(shares.begin(), shares.end(), same), shares.end());
    shares.push_back(share);
  }
}

} // namespace cleave::plan
