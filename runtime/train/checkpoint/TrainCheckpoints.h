// Checkpoints of a session: every process writes its parts, and the leader writes the rest.
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
  unsigned keep = 0; // newest checkpoints that are kept; 0: all
  RunFacts run;
  bool isOnlyBest = false; // true: saved only because it is the best so far
  unsigned keepBest = 0;   // newest checkpoints saved only as the best that are kept; 0: all
  std::shared_ptr<RunCheckpoints> ofRun = std::make_shared<RunCheckpoints>(); // shared by all requests of a run
  CheckpointLock *lock = nullptr; // the leader's lock of the directory; it follows the directory's name
};

// Saves states as DIR/step-*, makes `latest` (and `best`) refer to it, and removes old checkpoints of the run. `states`
// are the states of the local ranks, or a copy of them. All processes must call it with the same request, on a channel
// that nobody else uses meanwhile. If one of them cannot write, all of them return an error.
Status writeCheckpoint(Session &session, const std::vector<RankStates> &states, const SaveRequest &request,
                       unsigned channel = 0);

// Saves the states as they are now, after it has copied those of a device to their images in the host's memory.
Status saveLiveStates(Session &session, const SaveRequest &request);

// The states of the local ranks. On a device, these are images in the host's memory, which are as old as the last
// Rank::pullStates().
std::vector<RankStates> stateImages(const Session &session);

// Opens the checkpoint that `path` names. The leader prints the notes about it.
Status openCheckpoint(const Session &session, const std::string &path, Checkpoint *result);
// Checks that fillStates() will succeed. Nothing is written, and a failure leaves the session as it is.
Status checkStates(Session &session, const Checkpoint &checkpoint);
// Fills the states of all ranks.
Status fillStates(Session &session, const Checkpoint &checkpoint);

// Opens the checkpoint that `path` names and fills the states of all ranks. Returns the position and the facts of the
// run that saved it, and its identity. Processes must compare their identities, to be sure that they have loaded the
// same checkpoint (Session::agreeOnHash()).
Status loadCheckpoint(Session &session, const std::string &path, TrainingPosition *position, RunFacts *run,
                      uint64_t *identity);

} // namespace cleave::rt

#endif
