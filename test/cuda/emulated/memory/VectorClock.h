// Says which operations of a device are ordered, by vector clocks over streams.
//
// Every stream (and every chain of nodes of a graph) has a clock that advances with each operation. An operation knows,
// for each clock, the last tick that it is ordered after. An event records the knowledge of its stream, and streams
// that wait for the event learn it. By synchronizing, the host learns it, and operations that the host enqueues later
// know it too.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>

namespace cleave::emulated {

using ClockId = uint32_t;

class VectorClock {
public:
  void join(const VectorClock &other) {
    for (auto [id, tick] : other.ticks)
      ticks[id] = std::max(ticks[id], tick);
  }
  bool covers(const VectorClock &other) const {
    for (auto [id, tick] : other.ticks)
      if (at(id) < tick)
        return false;
    return true;
  }
  uint64_t tick(ClockId id) { return ++ticks[id]; }
  void set(ClockId id, uint64_t tick) { ticks[id] = tick; }
  uint64_t at(ClockId id) const {
    auto found = ticks.find(id);
    return found == ticks.end() ? 0 : found->second;
  }

private:
  std::map<ClockId, uint64_t> ticks;
};

// One operation's position in the order: the tick of clock `id` when it was enqueued, and all that it is ordered after.
struct Stamp {
  ClockId id = 0;
  uint64_t tick = 0;
  VectorClock known;
};

} // namespace cleave::emulated
