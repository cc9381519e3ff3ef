// Where ranks stand in the mesh, and what they store of states for it. Ranks are numbered row-major, the last axis
// fastest.
#ifndef CLEAVE_RUNTIME_PLAN_MESH_H
#define CLEAVE_RUNTIME_PLAN_MESH_H

#include "runtime/plan/PlanReader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::rt {

// "dp=2,tp=4", or "one rank".
std::string meshText(const fb::Plan &plan);
// The names of some axes, such as those that a group lies along: "dp,tp". `axes` is a vector of theirs, or null.
template <typename Axes> std::string axesText(const fb::Plan &plan, const Axes *axes) {
  std::string text;
  for (uint32_t i = 0; i < lengthOf(axes); ++i)
    text += (i ? "," : "") + plan.axes()->Get((*axes)[i])->name()->str();
  return text;
}

// The size of every axis.
std::vector<uint32_t> meshOf(const fb::Plan &plan);
// The coordinates of a rank, one per axis.
std::vector<unsigned> meshCoordinates(const std::vector<uint32_t> &mesh, unsigned rank);
// The rank `offset` further on along an axis, modulo its size.
int peerOf(const fb::Plan &plan, unsigned rank, int64_t axis, int64_t offset);
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
