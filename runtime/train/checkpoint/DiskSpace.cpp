#include "runtime/train/checkpoint/DiskSpace.h"

#include "runtime/base/Counted.h"
#include "runtime/session/MemoryUsage.h"
#include "runtime/state/CheckpointIndex.h"

#include <algorithm>

namespace cleave::rt {

uint64_t mostAdded(const SavePlan &plan) {
  if (plan.step >= plan.total)
    return 0;
  uint64_t saves = 1;
  if (plan.every != 0)
    saves = plan.total / plan.every - plan.step / plan.every + (plan.total % plan.every != 0);
  if (plan.keep == 0)
    return saves;
  return std::min(saves, plan.keep + 1 - std::min(plan.keep, plan.present));
}

Status checkpointBytes(const fb::Plan &plan, uint64_t *result) {
  CheckpointIndex index;
  CLEAVE_TRY(makeCheckpointIndex(plan, &index));
  *result = 0;
  for (const CheckpointTensor &tensor : index.tensors)
    for (const CheckpointSlice &slice : tensor.slices)
      *result += slice.count * elementSize(tensor.type);
  return Status::ok();
}

Status checkSpace(const SavePlan &plan, uint64_t bytes, uint64_t free, std::string *note) {
  note->clear();
  uint64_t added = mostAdded(plan), fit = bytes == 0 ? added : free / bytes;
  if (fit >= added)
    return Status::ok();
  std::string has = ", and its file system has " + formatBytes(free) + " free: ";
  if (fit == 0)
    return ioError("a checkpoint takes " + formatBytes(bytes) + has +
                   "make room there, or give --save a directory of another file system");
  uint64_t keep = fit + plan.present - 1; // while one is being written, `keep` others are there
  std::string fewer =
      keep != 0 ? "give --keep " + std::to_string(keep) + " or less, or make room there" : "make room there";
  *note = counted(added, "checkpoint") + " of " + formatBytes(bytes) + " will be added" + has + fewer;
  return Status::ok();
}

} // namespace cleave::rt
