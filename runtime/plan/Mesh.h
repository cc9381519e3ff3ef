// Where ranks stand in the mesh, and what they store of states for it. Ranks are numbered row-major, the last axis
// fastest.
#ifndef CLEAVE_RUNTIME_PLAN_MESH_H
#define CLEAVE_RUNTIME_PLAN_MESH_H

#include "runtime/plan/Plan_generated.h"

#include <cstdint>
#include <vector>

namespace cleave::rt {

// The size of every axis.
std::vector<uint32_t> meshOf(const fb::Plan &plan);
// The coordinates of a rank, one per axis.
std::vector<unsigned> meshCoordinates(const std::vector<uint32_t> &mesh, unsigned rank);
// The linear coordinate on several axes (null: 0), the first slowest.
unsigned linearCoordinate(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes,
                          const std::vector<unsigned> &coordinates);

// Elements [first, first + count) of a whole state.
struct StateRange {
  uint64_t first, count;
};
// Those that the rank at these coordinates stores.
StateRange storedRange(const fb::Plan &plan, const fb::State &state, const std::vector<unsigned> &coordinates);

} // namespace cleave::rt

#endif
