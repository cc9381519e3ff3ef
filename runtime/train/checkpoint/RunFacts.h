// The facts of a run that its checkpoints store. This is the one place that decides which of them may differ if another
// run continues from a checkpoint.
//
// Checkpoint::load() checks whether the tensors fit. Facts are about checkpoints that fit, and still belong to another
// kind of run. They are texts with names, so that a checkpoint of another version is compared by the names that both
// know. A difference is
//
//   an error   if continuing makes no sense: another model whose tensors happen to fit
//   a note     if a user may want it: another global batch, rate, schedule, optimizer option, precision, data set
//   nothing    if no result depends on it: ranks, threads, strategies, micro-batches of the same global batch
//
//   RunFacts now = planFacts(plan, "gpt");
//   now["global-batch"] = "32";
//   CLEAVE_TRY(compareFacts(saved, now, &note));
//   // note: "global batch 64, now 32; --lr 0.001, now 0.0003"
#ifndef CLEAVE_RUNTIME_TRAIN_CHECKPOINT_RUNFACTS_H
#define CLEAVE_RUNTIME_TRAIN_CHECKPOINT_RUNFACTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/state/CheckpointIndex.h"

#include <string>

namespace cleave::rt {

// In a fact about data, this stands before the hash of the contents.
inline constexpr const char *kWithContents = " with contents ";

// The facts that were compiled in. `name` is the model's name if the plan does not have the name of its file.
RunFacts planFacts(const fb::Plan &plan, const std::string &name);
// True if both have a fact of this name, and it differs.
bool differ(const RunFacts &saved, const RunFacts &now, const std::string &name);
// Compares the facts that both have. `note` is empty if none of them differs.
Status compareFacts(const RunFacts &saved, const RunFacts &now, std::string *note);

} // namespace cleave::rt

#endif
