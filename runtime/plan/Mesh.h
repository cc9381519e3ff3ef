// The coordinates of ranks in the mesh, and which part of a state a rank stores. Ranks are numbered row-major: the last
// axis is the fastest.
#ifndef CLEAVE_RUNTIME_PLAN_MESH_H
#define CLEAVE_RUNTIME_PLAN_MESH_H

#include "runtime/plan/PlanReader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::rt {

// "dp=2,tp=4", or "one rank".
std::string meshText(const fb::Plan &plan);
// The names of some axes, such as those of a group: "dp,tp". `axes` is a vector of their indices, or null.
template <typename Axes> std::string axesText(const fb::Plan &plan, const Axes *axes) {
  std::string text;
  for (uint32_t i = 0; i < lengthOf(axes); ++i)
    text += (i ? "," : "") + plan.axes()->Get((*axes)[i])->name()->str();
  return text;
}

// Returns the size of each axis.
std::vector<uint32_t> meshOf(const fb::Plan &plan);
// Returns the coordinates of a rank, one for each axis.
std::vector<unsigned> meshCoordinates(const std::vector<uint32_t> &mesh, unsigned rank);
// Returns the rank at these coordinates.
int rankAt(const std::vector<uint32_t> &mesh, const std::vector<unsigned> &coordinates);
// Returns the rank whose coordinate on `axis` is larger by `offset`, modulo the size of the axis.
int peerOf(const fb::Plan &plan, unsigned rank, int64_t axis, int64_t offset);
// The coordinates on several axes as one number. The first axis is the slowest. 0 if `axes` is null.
unsigned linearCoordinate(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes,
                          const std::vector<unsigned> &coordinates);

// Elements [first, first + count) of a whole state.
struct StateRange {
  uint64_t first, count;
};
// Returns the elements that the rank at these coordinates stores.
StateRange storedRange(const fb::Plan &plan, const fb::State &state, const std::vector<unsigned> &coordinates);

} // namespace cleave::rt

#endif
