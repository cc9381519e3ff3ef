#include "runtime/train/TrainCheckpoints.h"

#include "runtime/state/Checkpoint.h"

namespace cleave::rt {

namespace {

Status publish(Session &session, const CheckpointSave &save, const std::string &directory,
               const TrainingPosition &position, bool isBest, unsigned keep) {
  CheckpointIndex index;
  index.model = session.modelName();
  index.position = position;
  CLEAVE_TRY(makeCheckpointIndex(session.plan(), &index));
  CLEAVE_TRY(save.publish(index));
  CLEAVE_TRY(save.point("latest"));
  if (isBest)
    CLEAVE_TRY(save.point("best"));
  return pruneCheckpoints(directory, keep);
}

} // namespace

Status saveCheckpoint(Session &session, const std::string &directory, const TrainingPosition &position, bool isBest,
                      unsigned keep) {
  const fb::Program *step = nullptr;
  CLEAVE_TRY(session.entry("train_step", &step)); // weights for inference are packed, and as they were loaded
  CheckpointSave save(directory, position.step);
  // A leader that fails (a full disk) must not leave the other processes waiting: everybody goes through the barriers.
  Status status = session.isLeader() ? save.prepare() : Status::ok();
  CLEAVE_TRY(session.barrier());
  if (status.isOk())
    status = session.forEach([&](unsigned local, Rank &) {
      return save.writeShard(session.plan(), session.worldRank(local), session.states(local));
    });
  CLEAVE_TRY(session.barrier());
  if (status.isOk() && session.isLeader())
    status = publish(session, save, directory, position, isBest, keep);
  if (!status.isOk() && session.isLeader())
    save.discard();
  CLEAVE_TRY(std::move(status));
  return session.barrier();
}

Status loadCheckpoint(Session &session, const std::string &path, TrainingPosition *position) {
  Checkpoint checkpoint;
  CLEAVE_TRY(Checkpoint::open(path, &checkpoint));
  CLEAVE_TRY(session.forEach([&](unsigned local, Rank &) { return checkpoint.load(session.states(local)); }));
  CLEAVE_TRY(session.finishLoading());
  *position = checkpoint.index().position;
  return Status::ok();
}

} // namespace cleave::rt
