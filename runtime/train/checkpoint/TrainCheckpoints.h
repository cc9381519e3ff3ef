// Checkpoints of a session: all processes write their parts, the leader the rest.
#ifndef CLEAVE_RUNTIME_TRAIN_CHECKPOINT_TRAINCHECKPOINTS_H
#define CLEAVE_RUNTIME_TRAIN_CHECKPOINT_TRAINCHECKPOINTS_H

#include "runtime/session/Session.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/state/CheckpointSave.h"

namespace cleave::rt {

struct SaveRequest {
  std::string directory;
  CheckpointForm form = CheckpointForm::Sharded;
  TrainingPosition position;
  bool isBest = false;
  unsigned keep = 0; // newest checkpoints that stay; 0: all
  RunFacts run;
  bool isOnlyBest = false; // saved because it is the best so far, and for no other reason
  unsigned keepBest = 0;   // newest checkpoints of that kind that stay; 0: all
  std::shared_ptr<FormerBests> bests = std::make_shared<FormerBests>(); // of the directory: a run's requests share it
};

// Saves states as DIR/step-*, lets `latest` (and `best`) name it, and removes old ones. `states` are those of the local
// ranks, or a copy of them; all processes come with the same request, on a channel that nobody else uses meanwhile.
// They all return an error when one of them cannot write.
Status writeCheckpoint(Session &session, const std::vector<RankStates> &states, const SaveRequest &request,
                       unsigned channel = 0);

// The states of the local ranks as they are now.
std::vector<RankStates> liveStates(const Session &session);

// The checkpoint that `path` names, opened; the leader tells the user what it lacks.
Status openCheckpoint(const Session &session, const std::string &path, Checkpoint *result);
// Whether fillStates() will succeed. Nothing is written, and a failure leaves the session as it is.
Status checkStates(Session &session, const Checkpoint &checkpoint);
// Fills the states of all ranks.
Status fillStates(Session &session, const Checkpoint &checkpoint);

// Opens the checkpoint that `path` names, fills the states of all ranks, says where and in what run it was made, and
// which it is: processes that load each must have loaded the same one (Session::agreeOnHash()).
Status loadCheckpoint(Session &session, const std::string &path, TrainingPosition *position, RunFacts *run,
                      uint64_t *identity);

} // namespace cleave::rt

#endif
