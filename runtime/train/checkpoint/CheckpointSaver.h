// Saves the checkpoints of a training run, in the step loop or in the background.
//
// Without a snapshot, the step loop waits until the checkpoint is on the disk. A model compiled with --save-async has
// the program `snapshot`, which copies everything that is saved into a region of its own. The loop goes on after that
// copy, and a thread writes the copy meanwhile. There is one save at a time: the next one waits for it.
//
//   save()     takes the snapshot and starts the thread       returns an error of the save before
//   poll()     after each step                                returns such an error too, and the run ends,
//                                                             whatever step the other processes are at
//   finish()   at the end: waits for the thread               returns such an error at the latest
//
// The threads of several processes use a channel of their own (writeCheckpoint()), so that all of them learn if one
// cannot write.
#ifndef CLEAVE_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINTSAVER_H
#define CLEAVE_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINTSAVER_H

#include "runtime/train/checkpoint/TrainCheckpoints.h"

#include <atomic>
#include <thread>

namespace cleave::rt {

class CheckpointSaver {
public:
  // Saves in the step loop, or in the background if `async`. Fails if the model has no snapshot for that.
  CheckpointSaver() = default;
  ~CheckpointSaver();
  static Status open(Session &session, bool async, CheckpointSaver *result);
  CheckpointSaver(const CheckpointSaver &) = delete;
  CheckpointSaver &operator=(const CheckpointSaver &) = delete;

  Status save(SaveRequest request);
  Status poll();
  Status finish();
  // Returns the paths of the checkpoints that were finished since the last call.
  std::vector<std::string> takeSaved() { return std::exchange(saved_, {}); }

private:
  Session *session_ = nullptr;
  const fb::Program *snapshot_ = nullptr; // null: saves in the step loop
  std::vector<RankStates> states_;        // the states that are written: the live ones, or the snapshot
  SaveRequest request_;
  std::thread thread_;
  std::atomic<bool> done_{false};
  Status status_; // of the thread
  std::vector<std::string> saved_;
};

// Returns the states of a rank with the addresses of the copies that `snapshot` makes.
Status snapshotStates(const RankStates &live, const Rank &rank, const fb::Program &snapshot, RankStates *result);

} // namespace cleave::rt

#endif
