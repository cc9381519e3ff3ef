// Maps from the first byte of a range to what is known of the range. The value has `end`, the byte after the range.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_RANGES_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_RANGES_H

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace cleave::plan {

// Splits the range that contains `at` in two, which both keep its value: [0, 8) becomes [0, 4) and [4, 8) if `at` is 4.
// Returns the upper one, or the end of the map if no range is split.
template <typename Value>
typename std::map<uint64_t, Value>::iterator splitRange(std::map<uint64_t, Value> &ranges, uint64_t at) {
  auto next = ranges.upper_bound(at);
  if (next == ranges.begin())
    return ranges.end();
  auto range = std::prev(next);
  if (range->first == at || range->second.end <= at)
    return ranges.end();
  Value upper = range->second;
  range->second.end = at;
  return ranges.emplace_hint(next, at, std::move(upper));
}

} // namespace cleave::plan

#endif
