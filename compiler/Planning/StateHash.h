// The identity of a plan's states: which logical tensors there are, not where they lie. Checkpoints hold logical
// tensors, so that two plans of equal hash can exchange them whatever their mesh.
#ifndef CLEAVE_COMPILER_PLANNING_STATEHASH_H
#define CLEAVE_COMPILER_PLANNING_STATEHASH_H

#include "runtime/base/Hash.h"
#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::plan {

inline uint64_t stateLayoutHash(const rt::fb::PlanT &plan) {
  uint64_t hash = rt::kFnvOffset;
  auto add = [&](const std::string &text) { hash = rt::fnv1a(text + "|", hash); };
  for (const auto &state : plan.states)
    for (const auto &segment : state->segments) {
      add(segment->name);
      add(state->slot);
      add(std::to_string(static_cast<int>(state->role)) + ":" + std::to_string(static_cast<int>(state->dtype)));
      for (int64_t size : segment->shape)
        add(std::to_string(size));
    }
  return hash;
}

} // namespace cleave::plan

#endif
