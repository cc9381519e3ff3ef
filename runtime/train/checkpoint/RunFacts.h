// What a run was, as its checkpoints tell: the one place that says what may differ when another run goes on from one.
//
// Whether the tensors fit is Checkpoint::load()'s answer. Facts are about what fits and still continues something else:
// they are texts under names, so that a checkpoint of another version compares what both know. A difference is
//
//   an error   where going on means nothing: another model whose tensors happen to fit
//   a note     where a user may want it: another global batch, rate, schedule, optimizer option, precision, data set
//   nothing    in what no result depends on: ranks, threads, strategies, micro-batches of the same global batch
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

// What was compiled in. `name` stands for the model where the plan does not say what file it was.
RunFacts planFacts(const fb::Plan &plan, const std::string &name);
// Whether both have a fact of this name, and it is another.
bool differ(const RunFacts &saved, const RunFacts &now, const std::string &name);
// Of names that both have; `note` is empty where none differs.
Status compareFacts(const RunFacts &saved, const RunFacts &now, std::string *note);

} // namespace cleave::rt

#endif
