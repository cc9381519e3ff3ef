// The identity of what a plan's checkpoints hold: a hash over the names, slots and shapes of logical tensors, except
// scalars. It does not depend on how they are stored, so plans of one model, optimizer and precision have one hash,
// whatever their mesh and strategy. If a plan has several kinds of ranks, its hash is only in the checkpoints, and each
// kind's plan has the hash of its own states.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STATEHASH_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STATEHASH_H

#include "runtime/plan/SavedState.h"

namespace cleave::plan {

inline uint64_t stateLayoutHash(const rt::fb::PlanT &plan) {
  uint64_t sum = 0; // does not depend on the order
  for (const auto &state : plan.states) {
    bool isSaved = rt::isSaved(state->role, !state->partial_axes.empty(), !state->slot.empty());
    if (!isSaved || state->role == rt::fb::Role::scalar)
      continue;
    for (const auto &segment : state->segments)
      sum +=
          rt::savedTensorHash(segment->name, state->role == rt::fb::Role::optimizer ? state->slot : "", segment->shape);
  }
  return sum;
}

} // namespace cleave::plan

#endif
