#include "runtime/state/Checkpoint.h"

#include "runtime/plan/SavedState.h"
#include "runtime/state/CheckpointSave.h"
#include "runtime/state/FloatConversion.h"
#include "runtime/state/NarrowedNumbers.h"
#include "runtime/state/Problems.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace cleave::rt {
namespace {

std::string label(const std::string &name, const std::string &slot) {
  return slot.empty() ? "'" + name + "'" : "'" + name + "' (" + slot + ")";
}

// Returns the tensor that a state is read from, also if the checkpoint has another precision. A master that the
// checkpoint does not have is filled with the value. A value of another type is made from the master, not from its
// rounded copy.
const CheckpointTensor *sourceOf(const CheckpointIndex &index, const std::vector<std::string> &names,
                                 const std::string &slot, bool isScalar, ElementType type) {
  if (isScalar)
    return index.find(names, slot, isScalar);
  const CheckpointTensor *value = index.find(names, slot == kMasterSlot ? "" : slot);
  const CheckpointTensor *master = slot == kMasterSlot || slot.empty() ? index.find(names, kMasterSlot) : nullptr;
  bool isOther = !value || value->type != type;
  return master && (slot == kMasterSlot || isOther) ? master : value;
}

// A part must be a file next to the index. Otherwise somebody who packs a checkpoint could choose which of the user's
// files is read.
Status openPart(const std::string &path, SafeTensors *result) {
  std::error_code error;
  if (std::filesystem::is_symlink(path, error))
    return dataLoss(path +
                    " is a symbolic link; the parts of a checkpoint are files of their own (copy it with cp -L)");
  Status opened = SafeTensors::open(path, result);
  if (opened.isOk())
    return result->checkType();
  return opened.code() == Code::NotFound ? notFound(path + " is missing, so the checkpoint is not whole: is the "
                                                           "folder of --save shared by all machines? A copy needs all "
                                                           "files of the checkpoint")
                                         : opened;
}

// Scalars depend on the precision (a loss scale). One that the checkpoint does not have keeps its initial value.
bool isOptional(const CheckpointTensor &tensor) { return tensor.isScalar() || tensor.slot == kMasterSlot; }

} // namespace

Status Checkpoint::open(const std::string &path, Checkpoint *result) {
  Checkpoint checkpoint;
  CLEAVE_TRY(resolveCheckpoint(path, &checkpoint.path_, &checkpoint.standIn_));
  CLEAVE_TRY(readCheckpointIndex(checkpoint.path_ + "/" + kCheckpointIndexFile, &checkpoint.index_));
  CLEAVE_TRY(checkpoint.openShards());
  *result = std::move(checkpoint);
  return Status::ok();
}

// If a part is intact but belongs to another checkpoint, its header differs: the offsets, shapes or checksums in it.
Status Checkpoint::openChecked(const std::string &file, SafeTensors *shard) const {
  CLEAVE_TRY(openPart(path_ + "/" + file, shard));
  if (!index_.hasChecksums)
    return Status::ok();
  auto known = index_.parts.find(file);
  if (known == index_.parts.end())
    return dataLoss(path_ + "/" + kCheckpointIndexFile + " has no checksum of " + file);
  return shard->headerChecksum() == known->second
             ? Status::ok()
             : dataLoss(path_ + "/" + file + " is not the part that was saved with this checkpoint: its header has " +
                        "another checksum; take another copy of the checkpoint");
}

std::string Checkpoint::note() const {
  return index_.hasChecksums ? ""
                             : path_ + " was saved by an earlier version and has no checksums: damage to it would not "
                                       "be noticed";
}

Status Checkpoint::openShards() {
  for (const CheckpointTensor &tensor : index_.tensors) {
    for (const CheckpointSlice &slice : tensor.slices) {
      auto [shard, isNew] = shards_.try_emplace(slice.file);
      if (isNew)
        CLEAVE_TRY(openChecked(slice.file, &shard->second));
      const TensorView *view = shard->second.find(slice.key);
      if (!view)
        return dataLoss(shard->second.origin() + " has no tensor '" + slice.key + "'");
      if (view->type != tensor.type || view->bytes / elementSize(tensor.type) != slice.count)
        return dataLoss(shard->second.origin() + ": tensor '" + slice.key + "' is " +
                        toString(view->type, view->shape) + ", expected " + std::to_string(slice.count) +
                        " elements of " + elementName(tensor.type));
    }
  }
  return Status::ok();
}

static bool isTrained(const CheckpointTensor &tensor) {
  return tensor.role == "parameter" || tensor.role == "optimizer";
}

Status Checkpoint::read(const CheckpointTensor &tensor, uint64_t first, uint64_t count, ElementType type,
                        std::byte *target) const {
  size_t targetWidth = elementSize(type);
  for (const CheckpointSlice &slice : tensor.slices) {
    uint64_t begin = std::max(first, slice.first), end = std::min(first + count, slice.first + slice.count);
    if (begin >= end)
      continue;
    const TensorView &stored = *shards_.at(slice.file).find(slice.key);
    std::byte *part = target + (begin - first) * targetWidth;
    CLEAVE_TRY(readElements(stored, begin - slice.first, end - begin, type, part));
    NarrowedNumbers numbers{
        stored.type, stored.data + (begin - slice.first) * elementSize(stored.type), type, part, begin, end - begin};
    CLEAVE_TRY(checkNarrowed(numbers, tensor.name, isTrained(tensor)).in(path_));
  }
  return Status::ok();
}

Status Checkpoint::verify() const {
  for (const auto &[name, shard] : shards_)
    for (const TensorView &tensor : shard.tensors()) {
      for (uint64_t done = 0; done < tensor.bytes; done += kDropBytes) {
        CLEAVE_TRY(verifyBytes(tensor, done, std::min<uint64_t>(kDropBytes, tensor.bytes - done)));
        shard.dropPages();
      }
    }
  return Status::ok();
}

void Checkpoint::dropPages() const {
  for (const auto &[name, shard] : shards_)
    shard.dropPages();
}

const TensorView *Checkpoint::contiguous(const CheckpointTensor &tensor) const {
  if (tensor.slices.size() != 1)
    return nullptr;
  return shards_.at(tensor.slices[0].file).find(tensor.slices[0].key);
}

struct Checkpoint::Move {
  const CheckpointTensor *tensor;
  Overlap overlap;
  ElementType type;
  std::byte *target;
};

Status Checkpoint::findMoves(const RankStates &states, std::vector<Move> *moves) const {
  std::set<const CheckpointTensor *> used;
  Problems problems(/*isStateDict=*/false);
  bool onlyOptimizer = true; // true: the weights fit
  // Returns the tensor that a segment is read from. Null if the segment keeps its value or the checkpoint does not fit.
  auto check = [&](const fb::State &state, const LogicalSegment &segment) -> const CheckpointTensor * {
    if (!isSaved(state))
      return nullptr;
    ElementType type = elementType(state.dtype());
    std::string slot = checkpointSlot(state);
    bool isScalar = state.role() == fb::Role::scalar;
    if (isScalar && keptScalars_.count(segment.name))
      return nullptr;
    const CheckpointTensor *tensor = sourceOf(index_, segment.names(), slot, isScalar, type);
    if (!tensor) {
      if (!isScalar)
        problems.missing(label(segment.name, slot));
      onlyOptimizer &= state.role() == fb::Role::optimizer || isScalar;
      return nullptr;
    }
    used.insert(index_.find(segment.names(), slot, isScalar));
    used.insert(tensor);
    if (isConvertible(tensor->type, type) && tensor->shape == segment.shape) {
      problems.fits(label(segment.name, slot));
      return tensor;
    }
    problems.mismatch(label(segment.name, slot), toString(type, segment.shape), toString(tensor->type, tensor->shape));
    onlyOptimizer &= state.role() == fb::Role::optimizer;
    return nullptr;
  };
  for (const StateView &view : states.states)
    for (const LogicalSegment &segment : logicalSegments(*view.state))
      if (const CheckpointTensor *tensor = check(*view.state, segment))
        if (auto overlap = intersect(segment, view.range)) {
          ElementType type = elementType(view.state->dtype());
          moves->push_back({tensor, *overlap, type, view.data + overlap->stored * elementSize(type)});
        }
  // Every rank also checks the states of ranks of other kinds, so that all ranks fail together.
  for (const fb::State *state : states.elsewhere)
    for (const LogicalSegment &segment : logicalSegments(*state))
      check(*state, segment);
  for (const CheckpointTensor &tensor : index_.tensors)
    if (!used.count(&tensor) && !isOptional(tensor)) {
      problems.superfluous(label(tensor.name, tensor.slot));
      onlyOptimizer &= tensor.role == "optimizer";
    }
  if (Status status = problems.status(path_ + " does not fit this model", /*superfluousFails=*/true); !status.isOk())
    return onlyOptimizer ? Status(status.code(), status.message() + "; --weights takes the weights alone") : status;
  return Status::ok();
}

Status Checkpoint::verify(const CheckpointTensor &tensor, uint64_t first, uint64_t count) const {
  uint64_t width = elementSize(tensor.type);
  for (const CheckpointSlice &slice : tensor.slices) {
    uint64_t begin = std::max(first, slice.first), end = std::min(first + count, slice.first + slice.count);
    if (begin < end)
      CLEAVE_TRY(
          verifyBytes(*shards_.at(slice.file).find(slice.key), (begin - slice.first) * width, (end - begin) * width));
  }
  return Status::ok();
}

// Calls visit(move, first, count) for pieces of all elements that fill the states; `first` counts within the move.
// Releases the pages that were read.
template <typename Visit> Status Checkpoint::inPieces(const RankStates &states, Visit visit) const {
  std::vector<Move> moves;
  CLEAVE_TRY(findMoves(states, &moves));
  uint64_t readBytes = 0;
  for (const Move &move : moves) {
    uint64_t width = elementSize(move.tensor->type), piece = kDropBytes / width;
    for (uint64_t done = 0; done < move.overlap.count; done += piece) {
      uint64_t count = std::min(piece, move.overlap.count - done);
      CLEAVE_TRY(visit(move, done, count));
      readBytes += count * width;
      if (readBytes < kDropBytes)
        continue;
      dropPages();
      readBytes = 0;
    }
  }
  return Status::ok();
}

// Only numbers of trained tensors are converted: the others cause no error, and load() warns of them.
Status Checkpoint::check(const RankStates &states) const {
  std::vector<std::byte> converted;
  return inPieces(states, [&](const Move &move, uint64_t first, uint64_t count) {
    if (move.type == move.tensor->type || !isTrained(*move.tensor))
      return verify(*move.tensor, move.overlap.logical + first, count);
    converted.resize(std::max<size_t>(converted.size(), count * elementSize(move.type)));
    return read(*move.tensor, move.overlap.logical + first, count, move.type, converted.data());
  });
}

Status Checkpoint::checkFits(const RankStates &states) const {
  std::vector<Move> moves;
  return findMoves(states, &moves);
}

Status Checkpoint::load(const RankStates &states) const {
  return inPieces(states, [&](const Move &move, uint64_t first, uint64_t count) {
    return read(*move.tensor, move.overlap.logical + first, count, move.type,
                move.target + first * elementSize(move.type));
  });
}

Status loadCheckpointTensors(const std::string &path, CheckpointTensors *result, bool optimizerState) {
  auto checkpoint = std::make_shared<Checkpoint>();
  CLEAVE_TRY(Checkpoint::open(path, checkpoint.get()));
  result->position = checkpoint->index().position;
  result->path = checkpoint->path();
  for (const CheckpointTensor &saved : checkpoint->index().tensors) {
    if (saved.isScalar() || (saved.role == "optimizer" && !optimizerState))
      continue;
    // If a parameter has a master, it is the parameter's value. So nothing that was learned is rounded away.
    const CheckpointTensor *master = saved.slot.empty() ? checkpoint->index().find(saved.name, kMasterSlot) : nullptr;
    const CheckpointTensor &tensor = master ? *master : saved;
    uint64_t elements = 0;
    countElements(tensor.shape, &elements);
    TensorView view{tensor.name, tensor.type, tensor.shape, nullptr, elements * elementSize(tensor.type), nullptr};
    if (const TensorView *stored = checkpoint->contiguous(tensor)) {
      view.data = stored->data;
      view.checksums = stored->checksums; // verified by the reader
    } else {
      result->assembled.push_back(std::make_unique<std::byte[]>(view.bytes));
      CLEAVE_TRY(checkpoint->read(tensor, 0, elements, tensor.type, result->assembled.back().get()));
      view.data = result->assembled.back().get();
    }
    std::string suffix = saved.slot.empty() ? "" : "#" + saved.slot;
    std::vector<std::string> names = saved.aliases;
    names.push_back(saved.name);
    for (const std::string &name : names) {
      view.name = name + suffix;
      result->byName[view.name] = view;
    }
  }
  result->checkpoint = std::move(checkpoint);
  return Status::ok();
}

} // namespace cleave::rt
