// The index of a checkpoint: `checkpoint.json`.
//
// The index lists logical tensors. Each has a name (the model's), a slot ("" for the value itself; "exp_avg", ... for
// optimizer state), a shape, and the slices of its elements in the shards. Nothing in the index depends on the layout
// that wrote it, so any layout can read it. 64-bit integers are exact.
//
// "parts" has the checksum of each part's header, and the last line has that of the text above it (Checksums.h):
//
//   {"format": 2, "model": "gpt", "position": {"step": 100, ...}, "parts": {"rank-00000.safetensors": "9d3ab2f0", ...},
//    "tensors": [...],
//    "crc32c": "51c0be27"}
//
// Format 1, of earlier versions, is the same without these checksums. It is read with a note.
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINTINDEX_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINTINDEX_H

#include "runtime/base/Status.h"
#include "runtime/state/ElementType.h"
#include "runtime/state/Layout.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace cleave::rt {

// Elements [first, first + count) of a logical tensor are tensor `key` of `file`, in row-major order. No two slices of a
// file have the same key, whatever the names of the model's tensors are. Readers take keys from the index alone.
struct CheckpointSlice {
  std::string file, key;
  uint64_t first = 0, count = 0;
  unsigned rank = 0; // the rank that stores it, while it is saved; not in the file
};

// Sharded: each rank writes a file with the slices that it owns. Full: the leader writes all tensors, whole, into one
// file.
enum class CheckpointForm { Sharded, Full };

struct CheckpointTensor {
  std::string name, slot, role; // role: a name of fb::Role
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<std::string> aliases;
  std::vector<CheckpointSlice> slices; // ascending, total, disjoint

  // Scalars have names of Cleave ("scalar.lr"), which a parameter may have, too.
  bool isScalar() const { return role == "scalar"; }
  // What tells a tensor from all others of a checkpoint.
  auto identity() const { return std::tuple(std::string_view(name), std::string_view(slot), isScalar()); }
};

// The position of training. A step is a number that a device can hold (i64), and each epoch and each evaluation has at
// least one step. `sample` counts the samples of the epoch that all ranks together have used, so that another number of
// ranks continues at the same sample.
struct TrainingPosition {
  uint64_t step = 0, epoch = 0, sample = 0, seed = 0;
  double bestLoss = 0; // of the evaluations so far; meaningful when hasBest
  bool hasBest = false;
  uint64_t stale = 0;               // evaluations since the best one
  std::optional<bool> shuffle = {}; // true: samples are in a random order; empty: not known
};

// The facts of a run: texts with names (runtime/train/checkpoint/RunFacts.h).
using RunFacts = std::map<std::string, std::string>;
// The name of the fact that is the same in all checkpoints of a run, also after it was resumed.
constexpr const char *kRunFact = "run";

struct CheckpointIndex {
  bool hasChecksums = true; // false: format 1
  std::string model;
  uint64_t stateLayout = 0;
  TrainingPosition position;
  RunFacts run;            // empty: written by an earlier version
  bool isOnlyBest = false; // saved only because it was the best so far; few of these are kept (RunCheckpoints)
  std::map<std::string, uint32_t> parts; // file -> checksum of its header
  std::vector<CheckpointTensor> tensors;
  uint64_t identity = 0; // hash of the text that was read; with checksums, it depends on every byte of the checkpoint

  const CheckpointTensor *find(std::string_view name, std::string_view slot, bool isScalar = false) const;
  // The tensor that has one of these names, as its own or as another one. The first name that a tensor has counts.
  const CheckpointTensor *find(const std::vector<std::string> &names, std::string_view slot,
                               bool isScalar = false) const;
};

// The format that is written, and the oldest one that is read. CHANGELOG.md says which changes need no new format.
constexpr int kCheckpointFormat = 2, kOldestCheckpointFormat = 1;
// The slot of the f32 copy of a parameter that is stored in a narrower type.
constexpr const char *kMasterSlot = "master";
constexpr const char *kCheckpointIndexFile = "checkpoint.json";
constexpr const char *kFullCheckpointFile = "model.safetensors";

// Makes the index that the ranks of this plan write together. It depends only on the plan, so nothing has to be
// gathered.
Status makeCheckpointIndex(const fb::Plan &plan, CheckpointIndex *result);
// The index of the same tensors in one file.
CheckpointIndex fullIndex(CheckpointIndex sharded);
// The keys of all tensors in that file. The index does not have those of tensors without elements, which have no slices.
std::vector<std::string> fullKeys(const CheckpointIndex &index);

// The slices that one rank writes, with the states that they are part of. The formula is that of makeCheckpointIndex().
// If several ranks store a slice, it is written by the first kind that has the state. Of this kind, it is written by
// the rank at the first coordinate of all axes on which the state is replicated.
struct OwnedSlice {
  size_t state; // index into the states of the rank's kind
  LogicalSegment segment;
  Overlap overlap;
  std::string key;
};
std::vector<OwnedSlice> ownedSlices(const fb::Plan &plan, const std::vector<unsigned> &coordinates);
std::string shardName(unsigned rank);
// The slot with which a state's tensors are saved: the optimizer's name of the state, or "" for the value itself.
std::string checkpointSlot(const fb::State &state);

// Reads the checksums of all parts from the headers of their files in `directory`. The parts must have been written.
Status listParts(const std::string &directory, CheckpointIndex *index);
// The text of the index, as it is written.
Status checkpointIndexText(const CheckpointIndex &index, std::string *result);
Status writeCheckpointIndex(const std::string &path, const CheckpointIndex &index);
// Reads and checks the index: the text matches its checksum, names of files are plain, slices are complete and
// disjoint.
Status readCheckpointIndex(const std::string &path, CheckpointIndex *result);

} // namespace cleave::rt

#endif
