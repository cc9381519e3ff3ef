// The bytes that one rank of a group of N sends in a collective of `bytes`, a multiple of N. runtime/comm/Ring.h says
// how.
#ifndef CLEAVE_RUNTIME_PLAN_TRAFFIC_H
#define CLEAVE_RUNTIME_PLAN_TRAFFIC_H

#include <cstdint>

namespace cleave::rt {

constexpr uint64_t allReduceBytesSent(uint64_t bytes, uint64_t ranks) { return bytes / ranks * 2 * (ranks - 1); }
// For a reduce-scatter or an all-gather.
constexpr uint64_t scatterBytesSent(uint64_t bytes, uint64_t ranks) { return bytes / ranks * (ranks - 1); }
// The root takes part in the reduce-scatter. Every other rank also sends its chunk to the root.
constexpr uint64_t reduceBytesSent(uint64_t bytes, uint64_t ranks, bool isRoot) {
  return isRoot || ranks == 1 ? bytes / ranks * (ranks - 1) : bytes;
}
constexpr uint64_t broadcastBytesSent(uint64_t bytes, uint64_t ranks, bool isRoot) {
  return ranks == 1 ? 0 : bytes / ranks * (isRoot ? 2 * (ranks - 1) : ranks - 2);
}

} // namespace cleave::rt

#endif
