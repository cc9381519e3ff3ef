// Kinds of ranks: which plan a rank runs, by its coordinates.
//
// A plan file holds one plan for each kind, the first of which holds the others (Plan.kinds). A kind is a box of the
// mesh, a range of coordinates on every axis; the kinds' boxes part the mesh, so that a rank finds its kind by formula:
//
//   axis dp 4     kind "server" where dp in [0, 1)     kind "worker" where dp in [1, 4)
//
// States of one name are one state, of which every rank that has it holds its part; entry programs of one name run
// together, and their collectives meet (compiler/Planning/Verify/KindMatching.cpp proves it).
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

// The plans of all kinds, the given one first.
std::vector<const fb::Plan *> kindsOf(const fb::Plan &plan);
// The states of all kinds, each once, with the first kind that has it and its place there.
struct KindState {
  const fb::Plan *kind;
  size_t index;
  const fb::State *state;
};
std::vector<KindState> statesOf(const fb::Plan &plan);
// Whether every kind has a state of that name.
bool isEverywhere(const fb::Plan &plan, const fb::State &state);
// The kind of the rank at these coordinates, one per axis.
const fb::Plan &kindAt(const fb::Plan &plan, const std::vector<unsigned> &coordinates);
// The position of the first of a kind's kernels among those of all kinds, which lie one after the other in the
// artefact.
size_t firstKernel(const fb::Plan &plan, const fb::Plan &kind);

// Whether a kind has bytes of a port, which may be declared by any kind.
bool hasPort(const fb::Plan &plan, const fb::Plan &kind, const fb::Port &port);

// The kind's coordinates on an axis.
AxisRange rangeOf(const fb::Plan &kind, uint32_t axis);
uint64_t ranksOfKind(const fb::Plan &kind);
// The rank at the kind's first coordinates.
unsigned firstRankOf(const fb::Plan &kind);
// "worker, dp 1 to 3"
std::string describeKind(const fb::Plan &kind);

// Whether the kind's ranks have index `root` in their groups; nothing where some have and some have not.
std::optional<bool> isRoot(const fb::Plan &kind, const fb::Group &group, int64_t root);

// Part of openPlan(): the kinds part the mesh, and agree on what is one for all: axes, batch, states of one name, entry
// programs and their ports. Each kind's own tables have been checked.
Status checkKinds(const fb::Plan &plan);

} // namespace cleave::rt

#endif
