// Saving a checkpoint, step by step, so that a crash between any two steps leaves a loadable directory:
//
//   DIR/latest               "step-00000100", replaced by rename
//   DIR/best                 likewise, for the best validation loss
//   DIR/step-00000100/       rank-00000.safetensors ..., checkpoint.json; appears whole, by rename
//   DIR/.step-00000200.tmp/  being written, or left by a crash; the next save of that step starts it afresh
//
// Every process calls writeShard() for its ranks; one, the leader, does the rest. Between prepare(), the shards and
// publish() all processes must meet (Communicator's barrier); with ranks as threads the caller's join is enough.
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINTSAVE_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINTSAVE_H

#include "runtime/state/CheckpointIndex.h"

namespace cleave::rt {

class CheckpointSave {
public:
  CheckpointSave(std::string directory, uint64_t step);

  // Makes DIR and tries to write there, so that a mistake in its name shows before training.
  static Status probe(const std::string &directory);
  // Leader: makes DIR and an empty directory aside.
  Status prepare() const;
  // The slices that this rank owns; no file when it owns none.
  Status writeShard(const fb::Plan &plan, unsigned rank, const RankStates &states) const;
  // Leader: removes the directory aside, after a failure.
  void discard() const;
  // Leader: writes the index and gives the directory its name. Fails where another process could not write its part.
  Status publish(const CheckpointIndex &index) const;
  // Leader: makes DIR/latest (or DIR/best) name this checkpoint.
  Status point(const std::string &pointer) const;

  std::string path() const { return directory_ + "/" + name_; } // "DIR/step-00000100"

private:
  std::string directory_, name_, aside_;
};

// Removes all but the newest `keep` checkpoints; those that latest and best name always stay. keep 0 removes none.
Status pruneCheckpoints(const std::string &directory, unsigned keep);

// The checkpoint that the user means by a path: itself, what its `latest` names, or the newest one in it.
Status resolveCheckpoint(const std::string &path, std::string *result);

} // namespace cleave::rt

#endif
