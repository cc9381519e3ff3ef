#include "runtime/state/CheckpointIndex.h"

#include "runtime/plan/RankKinds.h"
#include "runtime/plan/SavedState.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace cleave::rt {
namespace {

// "h.0.weight", "h.0.weight#exp_avg"
std::string tensorKey(const std::string &name, const std::string &slot) {
  return slot.empty() ? name : name + "#" + slot;
}

// The same, followed by "@first" if the slice is not the whole tensor.
std::string sliceKey(const LogicalSegment &segment, const std::string &slot, const Overlap &overlap) {
  bool isPart = overlap.count != segment.count;
  return tensorKey(segment.name, slot) + (isPart ? "@" + std::to_string(overlap.logical) : "");
}

// True if this rank, of the first kind that has the state, writes its part of the state: on every axis that does not
// split the state, it is at the kind's first coordinate.
bool ownsState(const fb::Plan &kind, const fb::State &state, const std::vector<unsigned> &coordinates) {
  for (unsigned axis = 0; axis < coordinates.size(); ++axis) {
    const auto *split = state.split_axes();
    bool isSplit = split && std::find(split->begin(), split->end(), axis) != split->end();
    if (!isSplit && coordinates[axis] != rangeOf(kind, axis).begin)
      return false;
  }
  return true;
}

CheckpointTensor describe(const fb::State &state, const LogicalSegment &segment) {
  CheckpointTensor tensor;
  tensor.name = segment.name;
  tensor.slot = checkpointSlot(state);
  tensor.role = fb::EnumNameRole(state.role());
  tensor.type = elementType(state.dtype());
  tensor.shape = segment.shape;
  if (segment.segment && segment.segment->aliases())
    for (const auto *alias : *segment.segment->aliases())
      tensor.aliases.push_back(alias->str());
  return tensor;
}

} // namespace

const CheckpointTensor *CheckpointIndex::find(std::string_view name, std::string_view slot) const {
  for (const CheckpointTensor &tensor : tensors)
    if (tensor.name == name && tensor.slot == slot)
      return &tensor;
  return nullptr;
}

static bool isPartial(const fb::State &state) { return state.partial_axes() && state.partial_axes()->size() != 0; }

bool isSaved(const fb::State &state) {
  bool hasSlot = state.slot() && state.slot()->size() != 0;
  return isSaved(state.role(), isPartial(state), hasSlot);
}

std::string checkpointSlot(const fb::State &state) {
  return state.role() == fb::Role::optimizer && state.slot() ? state.slot()->str() : "";
}

std::string shardName(unsigned rank) {
  char name[64];
  std::snprintf(name, sizeof name, "rank-%05u.safetensors", rank);
  return name;
}

std::vector<OwnedSlice> ownedSlices(const fb::Plan &plan, const std::vector<unsigned> &coordinates) {
  std::vector<OwnedSlice> result;
  const fb::Plan &kind = kindAt(plan, coordinates);
  for (const KindState &each : statesOf(plan)) {
    const fb::State &state = *each.state;
    if (each.kind != &kind || !isSaved(state) || !ownsState(kind, state, coordinates))
      continue;
    Rank::Range range = storedRange(plan, state, coordinates);
    for (LogicalSegment &segment : logicalSegments(state))
      if (auto overlap = intersect(segment, range)) {
        std::string key = sliceKey(segment, checkpointSlot(state), *overlap);
        result.push_back({each.index, std::move(segment), *overlap, std::move(key)});
      }
  }
  return result;
}

Status makeCheckpointIndex(const fb::Plan &plan, CheckpointIndex *result) {
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (const KindState &each : statesOf(plan)) {
    const fb::State &state = *each.state;
    if (!isSaved(state))
      continue;
    if (isPartial(state))
      return internal("state '" + state.name()->str() + "' holds partial sums and cannot be saved");
    for (const LogicalSegment &segment : logicalSegments(state)) {
      if (!places.emplace(std::pair(segment.name, checkpointSlot(state)), result->tensors.size()).second)
        return internal("tensor '" + segment.name + "' lies in two states of the plan");
      result->tensors.push_back(describe(state, segment));
    }
  }
  result->stateLayout = 0;
  for (const CheckpointTensor &tensor : result->tensors)
    if (tensor.role != "scalar")
      result->stateLayout += savedTensorHash(tensor.name, tensor.slot, tensor.shape);
  std::vector<uint32_t> mesh = meshOf(plan);
  for (unsigned rank = 0; rank < meshSize(plan); ++rank)
    for (const OwnedSlice &slice : ownedSlices(plan, meshCoordinates(mesh, rank))) {
      const fb::State &state = *kindAt(plan, meshCoordinates(mesh, rank)).states()->Get(slice.state);
      CheckpointTensor &tensor = result->tensors[places[{slice.segment.name, checkpointSlot(state)}]];
      tensor.slices.push_back({shardName(rank), slice.key, slice.overlap.logical, slice.overlap.count, rank});
    }
  for (CheckpointTensor &tensor : result->tensors)
    std::sort(tensor.slices.begin(), tensor.slices.end(),
              [](const CheckpointSlice &a, const CheckpointSlice &b) { return a.first < b.first; });
  return Status::ok();
}

CheckpointIndex fullIndex(CheckpointIndex sharded) {
  for (CheckpointTensor &tensor : sharded.tensors) {
    uint64_t elements = 0;
    countElements(tensor.shape, &elements);
    tensor.slices.clear();
    if (elements != 0)
      tensor.slices.push_back({kFullCheckpointFile, tensorKey(tensor.name, tensor.slot), 0, elements});
  }
  return sharded;
}

} // namespace cleave::rt
