#include "runtime/state/CheckpointIndex.h"

#include "runtime/plan/RankKinds.h"
#include "runtime/plan/SavedState.h"
#include "runtime/state/SafeTensors.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace cleave::rt {
namespace {

// A slice that is to be stored in a file.
struct Stored {
  std::string name, slot;
  bool isScalar;
  std::optional<uint64_t> first; // empty: the whole tensor

  // Other programs find the weights in a file by the names of the model.
  bool keepsName() const { return slot.empty() && !isScalar && !first; }
  // "h.0.weight", "h.0.weight#exp_avg", "h.0.weight#exp_avg@4096"
  std::string text() const {
    return name + (slot.empty() ? "" : "#" + slot) + (first ? "@" + std::to_string(*first) : "");
  }
};

// The keys of the slices of one file. Any text can be a name of the model, "w#exp_avg" and "w@4" too. So names are given
// first, and another slice gets as many "~" after its text as make its key one that nothing else in the file has.
std::vector<std::string> fileKeys(const std::vector<Stored> &slices) {
  std::vector<std::string> keys(slices.size());
  std::set<std::string> taken = {std::string(kMetadataKey)};
  for (bool keepsName : {true, false})
    for (size_t i = 0; i < slices.size(); ++i) {
      if (slices[i].keepsName() != keepsName)
        continue;
      keys[i] = slices[i].text();
      while (!taken.insert(keys[i]).second)
        keys[i] += '~';
    }
  return keys;
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
  tensor.aliases = segment.names();
  tensor.aliases.erase(tensor.aliases.begin());
  return tensor;
}

} // namespace

const CheckpointTensor *CheckpointIndex::find(std::string_view name, std::string_view slot, bool isScalar) const {
  for (const CheckpointTensor &tensor : tensors)
    if (tensor.identity() == std::tuple(name, slot, isScalar))
      return &tensor;
  return nullptr;
}

const CheckpointTensor *CheckpointIndex::find(const std::vector<std::string> &names, std::string_view slot,
                                              bool isScalar) const {
  for (const std::string &name : names) {
    if (const CheckpointTensor *tensor = find(name, slot, isScalar))
      return tensor;
    for (const CheckpointTensor &tensor : tensors)
      if (tensor.slot == slot && tensor.isScalar() == isScalar &&
          std::find(tensor.aliases.begin(), tensor.aliases.end(), name) != tensor.aliases.end())
        return &tensor;
  }
  return nullptr;
}

static bool isPartial(const fb::State &state) { return state.partial_axes() && state.partial_axes()->size() != 0; }

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
      if (auto overlap = intersect(segment, range))
        result.push_back({each.index, std::move(segment), *overlap, ""});
  }
  std::vector<Stored> stored;
  for (const OwnedSlice &slice : result) {
    const fb::State &state = *kind.states()->Get(slice.state);
    bool isWhole = slice.overlap.count == slice.segment.count;
    stored.push_back({slice.segment.name, checkpointSlot(state), state.role() == fb::Role::scalar,
                      isWhole ? std::nullopt : std::optional(slice.overlap.logical)});
  }
  std::vector<std::string> keys = fileKeys(stored);
  for (size_t i = 0; i < keys.size(); ++i)
    result[i].key = std::move(keys[i]);
  return result;
}

Status makeCheckpointIndex(const fb::Plan &plan, CheckpointIndex *result) {
  std::map<std::tuple<std::string, std::string, bool>, size_t> places; // by identity()
  auto identity = [](const fb::State &state, const LogicalSegment &segment) {
    return std::tuple(segment.name, checkpointSlot(state), state.role() == fb::Role::scalar);
  };
  for (const KindState &each : statesOf(plan)) {
    const fb::State &state = *each.state;
    if (!isSaved(state))
      continue;
    if (isPartial(state))
      return internal("state '" + state.name()->str() + "' holds partial sums and cannot be saved");
    for (const LogicalSegment &segment : logicalSegments(state)) {
      if (!places.emplace(identity(state, segment), result->tensors.size()).second)
        return internal("tensor '" + segment.name + "' lies in two states of the plan");
      result->tensors.push_back(describe(state, segment));
    }
  }
  result->stateLayout = 0;
  for (const CheckpointTensor &tensor : result->tensors)
    if (!tensor.isScalar())
      result->stateLayout += savedTensorHash(tensor.name, tensor.slot, tensor.shape);
  std::vector<uint32_t> mesh = meshOf(plan);
  for (unsigned rank = 0; rank < meshSize(plan); ++rank)
    for (const OwnedSlice &slice : ownedSlices(plan, meshCoordinates(mesh, rank))) {
      const fb::State &state = *kindAt(plan, meshCoordinates(mesh, rank)).states()->Get(slice.state);
      CheckpointTensor &tensor = result->tensors[places[identity(state, slice.segment)]];
      tensor.slices.push_back({shardName(rank), slice.key, slice.overlap.logical, slice.overlap.count, rank});
    }
  for (CheckpointTensor &tensor : result->tensors)
    std::sort(tensor.slices.begin(), tensor.slices.end(),
              [](const CheckpointSlice &a, const CheckpointSlice &b) { return a.first < b.first; });
  return Status::ok();
}

std::vector<std::string> fullKeys(const CheckpointIndex &index) {
  std::vector<Stored> stored;
  for (const CheckpointTensor &tensor : index.tensors)
    stored.push_back({tensor.name, tensor.slot, tensor.isScalar(), std::nullopt});
  return fileKeys(stored);
}

CheckpointIndex fullIndex(CheckpointIndex sharded) {
  std::vector<std::string> keys = fullKeys(sharded);
  for (size_t i = 0; i < keys.size(); ++i) {
    CheckpointTensor &tensor = sharded.tensors[i];
    uint64_t elements = 0;
    countElements(tensor.shape, &elements);
    tensor.slices.clear();
    if (elements != 0)
      tensor.slices.push_back({kFullCheckpointFile, keys[i], 0, elements});
  }
  return sharded;
}

} // namespace cleave::rt
