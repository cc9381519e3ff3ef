// Whether the checkpoints of a run fit on their file system, asked before the first step and not after an hour.
//
//   error  not even one more checkpoint fits: nothing of this run could be kept
//   note   one fits, but not all that the run keeps: it would end at a full disk
//
// Only what is certain is counted: checkpoints that are written for being the best are not, for nobody knows how many
// there will be.
#ifndef CLEAVE_RUNTIME_TRAIN_CHECKPOINT_DISKSPACE_H
#define CLEAVE_RUNTIME_TRAIN_CHECKPOINT_DISKSPACE_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

struct SavePlan {
  uint64_t step = 0, total = 0; // where the run begins and ends
  uint64_t every = 0;           // steps between checkpoints; 0: one at the end
  uint64_t keep = 0;            // newest checkpoints that stay; 0: all
  uint64_t present = 0;         // checkpoints that the directory has already
};

// The most checkpoints that stand in the directory at once and that this run has added. One is removed after the next
// is whole, so that keep=2 has three for a moment: with one present, this run adds two.
uint64_t mostAdded(const SavePlan &plan);

// The bytes of a checkpoint's tensors, of all ranks together.
Status checkpointBytes(const fb::Plan &plan, uint64_t *result);

// `bytes` of one checkpoint, `free` of the file system; `note` is empty where all fit.
Status checkSpace(const SavePlan &plan, uint64_t bytes, uint64_t free, std::string *note);

} // namespace cleave::rt

#endif
