// The identity of what a plan's checkpoints hold: the names, slots and shapes of logical tensors, scalars aside, and
// not how they are stored. Plans of one model, optimizer and precision have one hash, whatever their mesh and strategy.
#ifndef CLEAVE_COMPILER_PLANNING_STATEHASH_H
#define CLEAVE_COMPILER_PLANNING_STATEHASH_H

#include "runtime/base/Hash.h"
#include "runtime/plan/SavedState.h"

#include <string>

namespace cleave::plan {

inline uint64_t stateLayoutHash(const rt::fb::PlanT &plan) {
  uint64_t sum = 0; // in any order
  for (const auto &state : plan.states) {
    bool isSaved = rt::isSaved(state->role, !state->partial_axes.empty(), !state->slot.empty());
    if (!isSaved || state->role == rt::fb::Role::scalar)
      continue;
    for (const auto &segment : state->segments) {
      std::string text = segment->name + "|" + (state->role == rt::fb::Role::optimizer ? state->slot : "");
      for (int64_t size : segment->shape)
        text += "|" + std::to_string(size);
      sum += rt::fnv1a(text);
    }
  }
  return sum;
}

} // namespace cleave::plan

#endif
