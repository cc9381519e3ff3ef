#include "runtime/state/Layout.h"

#include "runtime/plan/RankKinds.h"

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
  for (const KindState &each : statesOf(rank.allKinds()))
    if (!rank.stateBytes(*each.state).data)
      result.elsewhere.push_back(each.state);
  return result;
}

std::vector<std::string> LogicalSegment::names() const {
  std::vector<std::string> result = {name};
  if (segment && segment->aliases())
    for (const auto *alias : *segment->aliases())
      result.push_back(alias->str());
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
    // A table that does not fit its state is cut off here. The plan's reader has already reported it.
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

} // namespace cleave::rt
