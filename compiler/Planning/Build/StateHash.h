// The identity of what a plan's checkpoints hold: the names, slots and shapes of logical tensors, scalars aside, and
// not how they are stored. Plans of one model, optimizer and precision have one hash, whatever their mesh and strategy.
// That of a plan of several kinds of ranks is in their checkpoints alone; each kind's plan has the hash of its own.
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_STATEHASH_H
#define CLEAVE_COMPILER_PLANNING_BUILD_STATEHASH_H

#include "runtime/plan/SavedState.h"

namespace cleave::plan {

inline uint64_t stateLayoutHash(const rt::fb::PlanT &plan) {
  uint64_t sum = 0; // in any order
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
