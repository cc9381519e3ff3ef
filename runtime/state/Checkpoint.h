// Reads a checkpoint, into the states of any layout or as whole tensors of the model.
//
// When a checkpoint is opened, its index is proved to cover each tensor completely and without overlaps, and every
// slice is compared with the shard that holds it. A rank's states are then filled from the intersection of its ranges
// with the slices, which touches only the pages of these. The index and the headers are compared with their checksums
// when the checkpoint is opened, and data are compared when they are read (Checksums.h).
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINT_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINT_H

#include "runtime/state/CheckpointIndex.h"
#include "runtime/state/SafeTensors.h"

#include <map>
#include <memory>
#include <set>

namespace cleave::rt {

class Checkpoint {
public:
  // `path` may be every path that resolveCheckpoint() accepts.
  static Status open(const std::string &path, Checkpoint *result);

  const CheckpointIndex &index() const { return index_; }
  const std::string &path() const { return path_; }

  // Checks that the tensors are those of these states. No data are read. Fails with a list of all tensors that are
  // missing, superfluous or of another shape.
  Status checkFits(const RankStates &states) const;
  // Checks that load() of these states will succeed: the tensors fit, the bytes that it reads match their checksums,
  // and the states' types can hold the numbers. Nothing is written.
  Status check(const RankStates &states) const;
  // Fills every saved state of a rank. Fails as checkFits() does. A checkpoint of another precision is converted.
  // Scalars may differ between precisions and layouts (a loss scale; sums within a step are partial on several ranks).
  // Those that the checkpoint does not have keep their values.
  Status load(const RankStates &states) const;
  // Lets load() leave these scalars as they are.
  void keepScalars(std::set<std::string> names) { keptScalars_ = std::move(names); }
  // Reads elements [first, first + count) of a tensor of the index, and converts them to `type`.
  Status read(const CheckpointTensor &tensor, uint64_t first, uint64_t count, ElementType type,
              std::byte *target) const;
  // Returns the view of a tensor that is a single slice; null for other tensors.
  const TensorView *contiguous(const CheckpointTensor &tensor) const;
  // A line for the user if the checkpoint has no checksums; else empty.
  std::string note() const;
  // A line for the user if this is not the checkpoint that `latest` names, but replaces it; else empty.
  const std::string &standIn() const { return standIn_; }
  // Compares all data with their checksums.
  Status verify() const;
  // Releases the pages that were read so far.
  void dropPages() const;

private:
  struct Move; // elements that are copied into a rank's state
  Status findMoves(const RankStates &states, std::vector<Move> *moves) const;
  template <typename Visit> Status inPieces(const RankStates &states, Visit visit) const;
  Status verify(const CheckpointTensor &tensor, uint64_t first, uint64_t count) const;
  Status openShards();
  Status openChecked(const std::string &file, SafeTensors *shard) const;

  std::string path_, standIn_;
  CheckpointIndex index_;
  std::map<std::string, SafeTensors> shards_;
  std::set<std::string> keptScalars_;
};

// Whole tensors of a checkpoint: the values (slot "") of parameters and buffers and, on request, optimizer state as
// "name#slot". A tensor in a single slice is mapped, and one in several slices is assembled in memory. Aliases of tied
// tensors are entries of their own that share the bytes.
//
//   CheckpointTensors tensors;
//   CLEAVE_TRY(loadCheckpointTensors("ckpt", &tensors));
//   const TensorView &w = tensors.byName.at("h.0.attn.weight");   // w.type, w.shape, w.data, w.bytes
struct CheckpointTensors {
  std::map<std::string, TensorView, std::less<>> byName;
  TrainingPosition position;
  std::string path;

  // The memory that the views refer to.
  std::shared_ptr<const Checkpoint> checkpoint;
  std::vector<std::unique_ptr<std::byte[]>> assembled;
};

Status loadCheckpointTensors(const std::string &path, CheckpointTensors *result, bool optimizerState = false);

} // namespace cleave::rt

#endif
