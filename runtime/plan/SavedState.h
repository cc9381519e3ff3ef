// Which states a checkpoint holds, and what identifies them together. The compiler plans the snapshot of exactly these,
// so the rule stands here once.
#ifndef CLEAVE_RUNTIME_PLAN_SAVEDSTATE_H
#define CLEAVE_RUNTIME_PLAN_SAVEDSTATE_H

#include "runtime/base/Hash.h"
#include "runtime/plan/Plan_generated.h"

#include <string>
#include <vector>

namespace cleave::rt {

// Parameters, buffers, optimizer state and scalars are saved; gradients, constants and coordinates are made anew, and
// so are the sums within one step (partial scalars) and a buffer's copy for the time of a step (it has a slot).
inline bool isSaved(fb::Role role, bool isPartial, bool hasSlot) {
  switch (role) {
  case fb::Role::buffer:
    return !hasSlot;
  case fb::Role::parameter:
  case fb::Role::optimizer:
    return true;
  case fb::Role::scalar:
    return !isPartial;
  case fb::Role::gradient:
  case fb::Role::constant:
  case fb::Role::coordinate:
    return false;
  }
  return false;
}

// Of one logical tensor that is no scalar; the sum over all, in any order, is the state layout of what is saved.
inline uint64_t savedTensorHash(const std::string &name, const std::string &slot, const std::vector<int64_t> &shape) {
  std::string text = name + "|" + slot;
  for (int64_t size : shape)
    text += "|" + std::to_string(size);
  return fnv1a(text);
}

} // namespace cleave::rt

#endif
