// Initial values that are drawn (`cleave compile --init`): no file holds them, and no rank asks another for them.
//
// Element i of a tensor is value + scale * z(seed, name, i), where z is standard normal or uniform in [0, 1). Philox is
// keyed by the seed, and counts by the hash of the name and by i / 4, since one call gives four elements. Whoever stores
// elements [a, b) of the tensor draws these and no others, and what it draws depends on no mesh, strategy or stage:
//
//   drawElements({Draw::Kind::Normal, 0, 0.02, "h.0.weight"}, seed, 4096, 1024, ElementType::f32, target)
//                                                                                      // elements 4096 to 5119
//
// It is computed in f64 and rounded once to the state's type.
#ifndef CLEAVE_RUNTIME_STATE_RANDOMINIT_H
#define CLEAVE_RUNTIME_STATE_RANDOMINIT_H

#include "runtime/plan/DrawnWeights.h"
#include "runtime/state/ElementType.h"

namespace cleave::rt {

// Elements [first, first + count) of the tensor.
void drawElements(const Draw &draw, uint64_t seed, uint64_t first, uint64_t count, ElementType type,
                  std::byte *target);

// Whether the plan draws a state's initial value.
bool drawsStates(const fb::Plan &plan);

} // namespace cleave::rt

#endif
