// Kinds of ranks: the coordinates of a rank decide which plan it runs.
//
// A plan file has one plan for each kind. The first plan holds the others (Plan.kinds). A kind is a box of the mesh: a
// range of coordinates on every axis. Each rank is in the box of exactly one kind, so it finds its kind by a formula:
//
//   axis dp 4     kind "server" for dp in [0, 1)     kind "worker" for dp in [1, 4)
//
// States of different kinds with one name are one state, and every rank that has it stores its part. Entry programs
// with one name run together, and their collectives meet (compiler/Planning/Verify/Order/KindMatching.cpp proves it).
#ifndef CLEAVE_RUNTIME_PLAN_RANKKINDS_H
#define CLEAVE_RUNTIME_PLAN_RANKKINDS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

// Coordinates [begin, end) on an axis.
struct AxisRange {
  uint32_t begin, end;
  bool contains(uint32_t coordinate) const { return begin <= coordinate && coordinate < end; }
};

// Returns the plans of all kinds. The first one is `plan`.
std::vector<const fb::Plan *> kindsOf(const fb::Plan &plan);
// A state, with the first kind that has it, and its index there. statesOf() returns the states of all kinds, each once.
struct KindState {
  const fb::Plan *kind;
  size_t index;
  const fb::State *state;
};
std::vector<KindState> statesOf(const fb::Plan &plan);
// True if every kind has a state of that name.
bool isEverywhere(const fb::Plan &plan, const fb::State &state);
// Returns the kind of the rank at these coordinates. There is one coordinate for each axis.
const fb::Plan &kindAt(const fb::Plan &plan, const std::vector<unsigned> &coordinates);
// The index of a kind's first kernel among the kernels of all kinds. The artefact has them one kind after the other.
size_t firstKernel(const fb::Plan &plan, const fb::Plan &kind);

// True if ranks of `kind` have memory for a port, which any kind may have declared.
bool hasPort(const fb::Plan &plan, const fb::Plan &kind, const fb::Port &port);

// Returns the range of the kind's coordinates on an axis.
AxisRange rangeOf(const fb::Plan &kind, uint32_t axis);
uint64_t ranksOfKind(const fb::Plan &kind);
// Returns the rank at the kind's first coordinates.
unsigned firstRankOf(const fb::Plan &kind);
// Such as "worker, dp 1 to 3".
std::string describeKind(const fb::Plan &kind);

// Whether the kind's ranks have index `root` in their groups. Nothing if only some of them have it.
std::optional<bool> isRoot(const fb::Plan &kind, const fb::Group &group, int64_t root);

// Part of openPlan(). Checks that each rank has exactly one kind, and that the kinds agree where they must: axes,
// batch, states of one name, entry programs and their ports. The tables of each kind must have been checked before.
Status checkKinds(const fb::Plan &plan);

} // namespace cleave::rt

#endif
