// Which operations of a device are ordered: vector clocks over streams.
//
// Every stream (and every chain of nodes of a graph) has a clock that ticks with each operation. An operation knows,
// for each clock, up to which tick it comes after it. An event carries the knowledge of its stream at the record to the
// streams that wait for it; synchronizing carries it to the host, and what the host enqueues later knows it.
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

// One operation's place in the order: `clock` of `id` when it was enqueued, and all it comes after.
struct Stamp {
  ClockId id = 0;
  uint64_t tick = 0;
  VectorClock known;
};

} // namespace cleave::emulated
