// Checks before the first step, and not after an hour, whether the checkpoints of a run fit on their file system.
//
//   error  not even one more checkpoint fits: the run could not save anything
//   note   one fits, but not all that the run keeps: the disk would become full
//
// Only certain checkpoints are counted. Those that are written only because they are the best are not counted, because
// nobody knows how many there will be.
#ifndef CLEAVE_RUNTIME_TRAIN_CHECKPOINT_DISKSPACE_H
#define CLEAVE_RUNTIME_TRAIN_CHECKPOINT_DISKSPACE_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/state/CheckpointIndex.h"

namespace cleave::rt {

struct SavePlan {
  uint64_t step = 0, total = 0; // steps at which the run begins and ends
  uint64_t every = 0;           // steps between checkpoints; 0: one at the end
  uint64_t keep = 0;            // newest checkpoints that are kept; 0: all
  uint64_t present = 0;         // checkpoints of the run that are already in the directory
};

// The largest number of checkpoints that this run adds to the directory at any time. The oldest one is removed after
// the next one is whole, so keep=2 has three for a moment. If one is already there, this run adds two.
uint64_t mostAdded(const SavePlan &plan);

// The bytes that a checkpoint takes on a file system with blocks of this size: the files of all ranks and the index,
// each in whole blocks, the directory, and the pointer to it. `run` is for the index.
Status checkpointBytes(const fb::Plan &plan, CheckpointForm form, const RunFacts &run, uint64_t block,
                       uint64_t *result);

// Compares the `bytes` of a checkpoint with the `free` bytes of the file system. `note` is empty if all fit.
Status checkSpace(const SavePlan &plan, uint64_t bytes, uint64_t free, std::string *note);

} // namespace cleave::rt

#endif
