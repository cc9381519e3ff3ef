#include "runtime/train/checkpoint/DiskSpace.h"

#include "runtime/base/Counted.h"
#include "runtime/session/MemoryUsage.h"
#include "runtime/state/SafeTensors.h"

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

Status checkpointBytes(const fb::Plan &plan, CheckpointForm form, const RunFacts &run, uint64_t block,
                       uint64_t *result) {
  constexpr uint64_t kMostDigits = 256; // of the position, which grows while training goes on, and of the model's name
  CheckpointIndex index;
  CLEAVE_TRY(makeCheckpointIndex(plan, &index));
  if (form == CheckpointForm::Full)
    index = fullIndex(std::move(index));
  index.run = run;
  std::map<std::string, std::vector<TensorView>> files;
  for (const CheckpointTensor &tensor : index.tensors)
    for (const CheckpointSlice &slice : tensor.slices) {
      index.parts[slice.file] = 0;
      files[slice.file].push_back(
          {slice.key, tensor.type, tensor.shape, nullptr, slice.count * elementSize(tensor.type), nullptr});
    }
  auto inBlocks = [block](uint64_t bytes) { return (bytes + block - 1) / block * block; };
  std::string text;
  CLEAVE_TRY(checkpointIndexText(index, &text));
  *result = inBlocks(text.size() + kMostDigits) + 2 * block; // and the directory, and `latest`
  for (const auto &[file, tensors] : files) {
    uint64_t bytes = 0;
    CLEAVE_TRY(safeTensorsSize(tensors, &bytes).in(file));
    *result += inBlocks(bytes);
  }
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
  std::string number = std::to_string(keep) + (keep > 1 ? " or less" : ""); // 0 would keep all
  std::string fewer = keep != 0 ? "give --keep " + number + ", or make room there" : "make room there";
  *note = counted(added, "checkpoint") + " of " + formatBytes(bytes) + " will be added" + has + fewer;
  return Status::ok();
}

} // namespace cleave::rt
