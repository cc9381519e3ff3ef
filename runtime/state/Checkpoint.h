// A checkpoint that is read: into the states of any layout, or as whole logical tensors.
//
// The index is proved total and disjoint when it is opened, and every slice is checked against the shard that holds it;
// filling a rank's states is then the intersection of its ranges with the slices, and touches only their pages. The
// index and the headers are compared with their checksums when it is opened, data when they are read (Checksums.h).
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINT_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINT_H

#include "runtime/state/CheckpointIndex.h"
#include "runtime/state/SafeTensors.h"

#include <map>
#include <memory>

namespace cleave::rt {

class Checkpoint {
public:
  // `path` is what resolveCheckpoint() accepts.
  static Status open(const std::string &path, Checkpoint *result);

  const CheckpointIndex &index() const { return index_; }
  const std::string &path() const { return path_; }

  // Whether load() of these states will succeed: the tensors fit, and the bytes that it reads match their checksums.
  // Nothing is written.
  Status check(const RankStates &states) const;
  // Fills every saved state of a rank, or reports all that is missing, superfluous or of another shape. A checkpoint of
  // another precision is converted. Scalars are what precisions and layouts may differ in (a loss scale; sums within a
  // step are partial on several ranks): those that it lacks keep their values.
  Status load(const RankStates &states) const;
  // Elements [first, first + count) of a tensor of the index, as elements of `type`.
  Status read(const CheckpointTensor &tensor, uint64_t first, uint64_t count, ElementType type, std::byte *target) const;
  // Where a tensor lies that is one slice; null for others.
  const TensorView *contiguous(const CheckpointTensor &tensor) const;
  // A line for the user where the checkpoint carries no checksums; else empty.
  std::string note() const;
  // Likewise where it stands in for the one that `latest` names.
  const std::string &standIn() const { return standIn_; }
  // Compares all data with their checksums.
  Status verify() const;
  // Gives back the pages that were read so far.
  void dropPages() const;

private:
  struct Move; // elements that a rank's state is filled from
  Status findMoves(const RankStates &states, std::vector<Move> *moves) const;
  Status verify(const Move &move, uint64_t *readBytes) const;
  Status openShards();
  Status openChecked(const std::string &file, SafeTensors *shard) const;

  std::string path_, standIn_;
  CheckpointIndex index_;
  std::map<std::string, SafeTensors> shards_;
};

// Whole logical tensors of a checkpoint: the values (slot "") of parameters and buffers, and, when asked, optimizer
// state under "name#slot". Mapped where a tensor lies in one piece, assembled in memory where it was split. Aliases of
// tied tensors are entries of their own that share the bytes.
//
//   CheckpointTensors tensors;
//   CLEAVE_TRY(loadCheckpointTensors("ckpt", &tensors));
//   const TensorView &w = tensors.byName.at("h.0.attn.weight");   // w.type, w.shape, w.data, w.bytes
struct CheckpointTensors {
  std::map<std::string, TensorView, std::less<>> byName;
  TrainingPosition position;
  std::string path;

  // What the views point into.
  std::shared_ptr<const Checkpoint> checkpoint;
  std::vector<std::unique_ptr<std::byte[]>> assembled;
};

Status loadCheckpointTensors(const std::string &path, CheckpointTensors *result, bool optimizerState = false);

} // namespace cleave::rt

#endif
