// How states, segments and the ranges of ranks relate. No other code knows this.
//
// A state is a row of elements. Its segments say where each logical tensor is in the row, and a rank stores one range
// of the row. Everything that moves state (initial weights, checkpoints, other layouts) intersects segments with
// ranges:
//
//   state     |---- w (6) ----|-- b (2) --|        segments w at 0, b at 6
//   rank 1                |---------------|        stores elements [4, 8)
//   overlap               | w[4..6)  at 0 | b[0..2) at 2
#ifndef CLEAVE_RUNTIME_STATE_LAYOUT_H
#define CLEAVE_RUNTIME_STATE_LAYOUT_H

#include "runtime/device/Rank.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/state/ElementType.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

// A state as one rank stores it.
struct StateView {
  const fb::State *state = nullptr;
  Rank::Range range{};
  std::byte *data = nullptr;
};

// All states of one rank.
struct RankStates {
  std::vector<unsigned> coordinates; // on Plan.axes
  std::vector<StateView> states;
  std::vector<const fb::State *> elsewhere; // states that only ranks of other kinds have
};

RankStates viewStates(const Rank &rank);

// One logical tensor of a state. A state without a segment table is a single tensor with the state's name.
struct LogicalSegment {
  std::string name;
  Shape shape;
  uint64_t offset = 0, count = 0; // elements of the whole state
  const fb::Segment *segment = nullptr;

  // All names of the tensor: its own, and those that the file or --tie gives to the same tensor. Whoever looks for a
  // tensor by its name looks for all of them.
  std::vector<std::string> names() const;
};

std::vector<LogicalSegment> logicalSegments(const fb::State &state);

// `count` elements that a segment and a stored range have in common.
struct Overlap {
  uint64_t logical; // first common element, counted in the logical tensor
  uint64_t stored;  // first common element, counted in the elements that the rank stores
  uint64_t count;
};

std::optional<Overlap> intersect(const LogicalSegment &segment, Rank::Range range);

} // namespace cleave::rt

#endif
