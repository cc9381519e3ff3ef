// What a checkpoint says about itself: `checkpoint.json`.
//
// Tensors are logical: a name (the model's), a slot ("" for the value itself, "exp_avg", ... for optimizer state), a
// shape, and the element slices that lie in the shards. Nothing of the layout that wrote them is left, so that any
// layout can read them. 64-bit integers are kept exact.
//
// "parts" has the checksum of each part's header, and the last line that of the text above it (Checksums.h):
//
//   {"format": 2, "model": "gpt", "position": {"step": 100, ...}, "parts": {"rank-00000.safetensors": "9d3ab2f0", ...},
//    "tensors": [...],
//    "crc32c": "51c0be27"}
//
// Format 1, of earlier versions, is the same without these two, and is read with a note.
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINTINDEX_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINTINDEX_H

#include "runtime/base/Status.h"
#include "runtime/state/ElementType.h"
#include "runtime/state/Layout.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cleave::rt {

// Elements [first, first + count) of a logical tensor are tensor `key` of `file`, in row-major order.
struct CheckpointSlice {
  std::string file, key;
  uint64_t first = 0, count = 0;
  unsigned rank = 0; // that stores it, while it is saved; not in the file
};

// Sharded: each rank writes a file with what it stores. Full: the first rank writes all tensors, whole, into one.
enum class CheckpointForm { Sharded, Full };

struct CheckpointTensor {
  std::string name, slot, role; // role: a name of fb::Role
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<std::string> aliases;
  std::vector<CheckpointSlice> slices; // ascending, total, disjoint
};

// Where training stood: a step is a number that the device can hold (i64), and each epoch and each evaluation takes one at
// least. `sample` counts the samples of the epoch already used by all ranks together, so that another
// number of ranks continues at the same sample.
struct TrainingPosition {
  uint64_t step = 0, epoch = 0, sample = 0, seed = 0;
  double bestLoss = 0; // of the evaluations so far; meaningful when hasBest
  bool hasBest = false;
  uint64_t stale = 0;          // evaluations since the best one
  std::optional<bool> shuffle; // whether samples are taken in a random order; nothing where nobody said
};

// What was being run, as texts under names (runtime/train/checkpoint/RunFacts.h).
using RunFacts = std::map<std::string, std::string>;

struct CheckpointIndex {
  bool hasChecksums = true; // false: of format 1
  std::string model;
  uint64_t stateLayout = 0;
  TrainingPosition position;
  RunFacts run; // empty: of an earlier version
  bool isOnlyBest = false; // saved for being the best so far alone; of former ones few are kept (FormerBests)
  std::map<std::string, uint32_t> parts; // file -> checksum of its header
  std::vector<CheckpointTensor> tensors;
  uint64_t identity = 0; // of the text that was read; with checksums, of all that the checkpoint holds

  const CheckpointTensor *find(std::string_view name, std::string_view slot) const;
};

// The format that is written, and the oldest one that is read. See CHANGELOG.md for what may change without a new one.
constexpr int kCheckpointFormat = 2, kOldestCheckpointFormat = 1;
// The optimizer state that holds a narrow parameter in f32.
constexpr const char *kMasterSlot = "master";
constexpr const char *kCheckpointIndexFile = "checkpoint.json";
constexpr const char *kFullCheckpointFile = "model.safetensors";

// The index that ranks of this plan write together; derived from the plan alone, so that nothing has to be gathered.
Status makeCheckpointIndex(const fb::Plan &plan, CheckpointIndex *result);
// The same tensors in one file.
CheckpointIndex fullIndex(CheckpointIndex sharded);

// The slices of one rank, with the state they come from; the same formula as makeCheckpointIndex. A slice that several
// ranks store is given to the one at the first coordinate, in the first kind that has the state, of the axes on which
// it is replicated.
struct OwnedSlice {
  size_t state; // index into the states of the rank's kind
  LogicalSegment segment;
  Overlap overlap;
  std::string key;
};
std::vector<OwnedSlice> ownedSlices(const fb::Plan &plan, const std::vector<unsigned> &coordinates);
std::string shardName(unsigned rank);
// The slot under which a state's tensors are saved: the optimizer's name for it, "" for the value itself.
std::string checkpointSlot(const fb::State &state);
// The rule of plan/SavedState.h.
bool isSaved(const fb::State &state);

// Takes the checksums of all parts, which are written, from the headers of their files in `directory`.
Status listParts(const std::string &directory, CheckpointIndex *index);
Status writeCheckpointIndex(const std::string &path, const CheckpointIndex &index);
// Reads and checks: the text matches its checksum, names of files are plain, slices are total and disjoint.
Status readCheckpointIndex(const std::string &path, CheckpointIndex *result);

} // namespace cleave::rt

#endif
