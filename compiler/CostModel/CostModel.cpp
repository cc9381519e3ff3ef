#include "compiler/CostModel/CostModel.h"

#include <algorithm>

namespace cleave {

static uint64_t ringSteps(RingCollective kind, uint64_t ranks) {
  return ranks <= 1 ? 0 : (kind == RingCollective::AllReduce ? 2 : 1) * (ranks - 1);
}

uint64_t ringSentBytes(RingCollective kind, uint64_t bytes, uint64_t ranks) {
  return ranks <= 1 ? 0 : ringSteps(kind, ranks) * (bytes / ranks);
}

double ringSeconds(RingCollective kind, uint64_t bytes, uint64_t ranks, const Machine &machine) {
  return static_cast<double>(ringSteps(kind, ranks)) * machine.linkSeconds +
         static_cast<double>(ringSentBytes(kind, bytes, ranks)) / machine.linkBytesPerSecond;
}

double kernelSeconds(uint64_t flops, uint64_t bytes, const Machine &machine) {
  return machine.launchSeconds + std::max(static_cast<double>(flops) / machine.flopsPerSecond,
                                          static_cast<double>(bytes) / machine.bytesPerSecond);
}

} // namespace cleave
