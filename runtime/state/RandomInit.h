// Draws initial values (`cleave compile --init`). No file holds them, and ranks exchange none of them.
//
// Element i of a tensor is value + scale * z(seed, name, i), where z is standard normal, or uniform in [0, 1). Philox
// is keyed by the seed. Its counter is the hash of the name together with i / 4, because one call gives four elements.
// A rank that stores elements [a, b) of the tensor draws only these. Their values depend on no mesh, strategy or stage:
//
//   drawElements({Draw::Kind::Normal, 0, 0.02, "h.0.weight"}, seed, 4096, 1024, ElementType::f32, target)
//                                                                                      // elements 4096 to 5119
//
// Values are computed in f64 and rounded once to the state's type.
#ifndef CLEAVE_RUNTIME_STATE_RANDOMINIT_H
#define CLEAVE_RUNTIME_STATE_RANDOMINIT_H

#include "runtime/plan/DrawnWeights.h"
#include "runtime/state/ElementType.h"

namespace cleave::rt {

// Draws elements [first, first + count) of the tensor.
void drawElements(const Draw &draw, uint64_t seed, uint64_t first, uint64_t count, ElementType type,
                  std::byte *target);

// True if the plan draws the initial value of a state.
bool drawsStates(const fb::Plan &plan);

} // namespace cleave::rt

#endif
