// Which states a checkpoint holds, and what identifies them together. The compiler plans the snapshot of exactly these
// states, so compiler and runtime share this definition.
#ifndef CLEAVE_RUNTIME_PLAN_SAVEDSTATE_H
#define CLEAVE_RUNTIME_PLAN_SAVEDSTATE_H

#include "runtime/base/Hash.h"
#include "runtime/plan/Plan_generated.h"

#include <string>
#include <vector>

namespace cleave::rt {

// Parameters, buffers, optimizer state and scalars are saved. Gradients, constants and coordinates are computed anew.
// So are sums within one step (partial scalars), and the copies of buffers that exist only within a step (they have a
// slot).
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

inline bool isSaved(const fb::State &state) {
  bool isPartial = state.partial_axes() && state.partial_axes()->size() != 0;
  return isSaved(state.role(), isPartial, state.slot() && state.slot()->size() != 0);
}

// The hash of one logical tensor that is no scalar. The sum of these hashes over all saved tensors, in any order, is
// the state layout.
inline uint64_t savedTensorHash(const std::string &name, const std::string &slot, const std::vector<int64_t> &shape) {
  std::string text = name + "|" + slot;
  for (int64_t size : shape)
    text += "|" + std::to_string(size);
  return fnv1a(text);
}

} // namespace cleave::rt

#endif
