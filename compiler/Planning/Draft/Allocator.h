// Chooses offsets for buffers that live at different times.
//
// The algorithm is greedy by size with best fit (Pisarchyk & Lee 2020, "Efficient memory management for deep neural net
// inference"). Buffers are placed from the largest to the smallest, each in the smallest gap between the placed buffers
// that live at the same time. Rejected: placing buffers as they come, which fragments memory if a large buffer comes
// late; exact solvers, which are slow and gain a few percent.
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_ALLOCATOR_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_ALLOCATOR_H

#include "compiler/Planning/Draft/Liveness.h"
#include "runtime/plan/Alignment.h"

namespace cleave::plan {

struct AllocationRequest {
  uint64_t bytes = 0;
  uint64_t alignment = rt::kBufferAlignment;
  Span span;
};

struct MemoryLayout {
  std::vector<uint64_t> offsets; // one for each request
  uint64_t peak = 0;             // bytes of the region
};

MemoryLayout allocate(const std::vector<AllocationRequest> &requests);

} // namespace cleave::plan

#endif
