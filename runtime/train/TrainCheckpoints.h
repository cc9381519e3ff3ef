// Checkpoints of a running training: all ranks write their parts, the leader the rest.
#ifndef CLEAVE_RUNTIME_TRAIN_TRAINCHECKPOINTS_H
#define CLEAVE_RUNTIME_TRAIN_TRAINCHECKPOINTS_H

#include "runtime/state/CheckpointSave.h"
#include "runtime/train/Session.h"

namespace cleave::rt {

// Saves the states of all ranks as DIR/step-*, lets `latest` (and `best`) name it, and removes old ones.
Status saveCheckpoint(Session &session, const std::string &directory, const TrainingPosition &position, bool isBest,
                      unsigned keep);

// Fills the states of all ranks from the checkpoint that `path` names.
Status loadCheckpoint(Session &session, const std::string &path, TrainingPosition *position);

} // namespace cleave::rt

#endif
