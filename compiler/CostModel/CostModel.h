// Predicts how long work takes, by plain formulas with explicit counts of steps and bytes. It uses no passes and no
// MLIR. The simulator and the cut of a pipeline both use it.
//
// Ring collectives over N ranks of B bytes (Patarasuk & Yuan 2009), with latency a per step and b bytes per second:
//   all-reduce      2(N-1) steps of B/N bytes     2(N-1)·a + 2(N-1)/N · B/b
//   reduce-scatter   (N-1) steps of B/N bytes      (N-1)·a +  (N-1)/N · B/b      (the same for all-gather)
// A reduce and a broadcast take as long as an all-reduce: the root's link carries all bytes of their second half. A
// kernel is as slow as the slower of its arithmetic and its traffic (Williams et al. 2009, "Roofline").
#ifndef CLEAVE_COMPILER_COSTMODEL_COSTMODEL_H
#define CLEAVE_COMPILER_COSTMODEL_COSTMODEL_H

#include <cstdint>

namespace cleave {

enum class RingCollective { AllReduce, ReduceScatter, AllGather };

struct Machine {
  double flopsPerSecond = 1e11;    // of one rank
  double bytesPerSecond = 1e10;    // of its memory
  double launchSeconds = 1e-6;     // from one kernel to the next
  double linkBytesPerSecond = 5e9; // to a neighbour in the ring
  double linkSeconds = 1e-5;       // latency of one step
};

// The bytes that each rank sends. It is exact, because a plan divides `bytes` evenly among the ranks.
uint64_t ringSentBytes(RingCollective kind, uint64_t bytes, uint64_t ranks);
double ringSeconds(RingCollective kind, uint64_t bytes, uint64_t ranks, const Machine &machine);
double kernelSeconds(uint64_t flops, uint64_t bytes, const Machine &machine);

} // namespace cleave

#endif
