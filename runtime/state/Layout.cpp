#include "runtime/state/Layout.h"

#include "runtime/plan/Kinds.h"

#include <algorithm>

namespace cleave::rt {

RankStates viewStates(const Rank &rank) {
  RankStates result;
  const fb::Plan &plan = rank.plan();
  for (unsigned axis = 0; plan.axes() && axis < plan.axes()->size(); ++axis)
    result.coordinates.push_back(rank.coordinate(axis));
  if (plan.states())
    for (const fb::State *state : *plan.states())
      result.states.push_back({state, rank.stateRange(*state), rank.stateBytes(*state).data});
  for (const fb::Plan *kind : kindsOf(rank.allKinds()))
    for (size_t i = 0; i < lengthOf(kind->states()); ++i) {
      const fb::State *state = kind->states()->Get(i);
      auto isSame = [&](const fb::State *known) { return textOf(known->name()) == textOf(state->name()); };
      if (!rank.stateBytes(*state).data && std::none_of(result.elsewhere.begin(), result.elsewhere.end(), isSame))
        result.elsewhere.push_back(state);
    }
  return result;
}

std::vector<LogicalSegment> logicalSegments(const fb::State &state) {
  std::vector<LogicalSegment> result;
  if (!state.segments() || state.segments()->size() == 0) {
    result.push_back({state.name()->str(), {static_cast<int64_t>(state.elements())}, 0, state.elements(), nullptr});
    return result;
  }
  for (const fb::Segment *segment : *state.segments()) {
    LogicalSegment logical{segment->name()->str(), {}, segment->offset(), 0, segment};
    if (segment->shape())
      logical.shape.assign(segment->shape()->begin(), segment->shape()->end());
    // A table that does not fit its state is cut here; the plan's reader has reported it before.
    if (!countElements(logical.shape, &logical.count) || logical.offset > state.elements())
      continue;
    logical.count = std::min(logical.count, state.elements() - logical.offset);
    result.push_back(std::move(logical));
  }
  return result;
}

std::optional<Overlap> intersect(const LogicalSegment &segment, Rank::Range range) {
  uint64_t first = std::max(segment.offset, range.first);
  uint64_t end = std::min(segment.offset + segment.count, range.first + range.count);
  if (first >= end)
    return std::nullopt;
  return Overlap{first - segment.offset, first - range.first, end - first};
}

std::vector<unsigned> meshCoordinates(const fb::Plan &plan, unsigned rank) {
  std::vector<unsigned> coordinates(plan.axes() ? plan.axes()->size() : 0);
  for (size_t axis = coordinates.size(); axis-- > 0;) {
    unsigned size = std::max(1u, plan.axes()->Get(axis)->size());
    coordinates[axis] = rank % size;
    rank /= size;
  }
  return coordinates;
}

unsigned linearCoordinate(const fb::Plan &plan, const flatbuffers::Vector<uint32_t> *axes,
                          const std::vector<unsigned> &coordinates) {
  unsigned linear = 0;
  if (axes)
    for (uint32_t axis : *axes)
      linear = linear * std::max(1u, plan.axes()->Get(axis)->size()) + coordinates[axis];
  return linear;
}

Rank::Range storedRange(const fb::Plan &plan, const fb::State &state, const std::vector<unsigned> &coordinates) {
  uint64_t count = state.elements() / axesSize(plan, state.split_axes());
  return {linearCoordinate(plan, state.split_axes(), coordinates) * count, count};
}

} // namespace cleave::rt
