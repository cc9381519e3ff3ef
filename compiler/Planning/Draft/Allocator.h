// Offsets for buffers that live at different times.
//
// Greedy by size, best fit (Pisarchyk & Lee 2020, "Efficient memory management for deep neural net inference"): the
// largest buffer first, into the smallest gap between those placed buffers that live at the same time. Rejected: first
// come, first placed, which fragments when a large buffer comes late; exact solvers, which are slow for a few percent.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_ALLOCATOR_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_ALLOCATOR_H

#include "compiler/Planning/Draft/Liveness.h"

namespace cleave::plan {

struct AllocationRequest {
  uint64_t bytes = 0;
  uint64_t alignment = 64;
  Span span;
};

struct MemoryLayout {
  std::vector<uint64_t> offsets; // one a request
  uint64_t peak = 0;             // bytes of the region
};

MemoryLayout allocate(const std::vector<AllocationRequest> &requests);

} // namespace cleave::plan

#endif
