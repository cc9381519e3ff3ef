// When a training run saves, and who waits for the disk.
//
// Without a snapshot the step loop waits until the checkpoint is on the disk. A model compiled with --save-async has
// the program `snapshot`, which copies all that is saved into a region of its own; the loop goes on after that copy,
// and a thread writes the copy meanwhile. One save is under way at a time, the next one waits for it.
//
//   save()     snapshot, then the thread starts          an error of the save before comes out here,
//   poll()     after each step                           or here: the run ends, whatever step the others are at,
//   finish()   at the end: waits for the thread          or here at the latest
//
// The threads of several processes talk on a channel of their own (writeCheckpoint()), so that all of them learn when
// one cannot write.
#ifndef CLEAVE_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINTSAVER_H
#define CLEAVE_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINTSAVER_H

#include "runtime/train/checkpoint/TrainCheckpoints.h"

#include <atomic>
#include <thread>

namespace cleave::rt {

class CheckpointSaver {
public:
  // Writes at once, or in the background where `async`; fails where the model has no snapshot for that.
  CheckpointSaver() = default;
  ~CheckpointSaver();
  static Status open(Session &session, bool async, CheckpointSaver *result);
  CheckpointSaver(const CheckpointSaver &) = delete;
  CheckpointSaver &operator=(const CheckpointSaver &) = delete;

  Status save(SaveRequest request);
  Status poll();
  Status finish();
  // The paths of checkpoints that were finished since the last call.
  std::vector<std::string> takeSaved() { return std::exchange(saved_, {}); }

private:
  Session *session_ = nullptr;
  const fb::Program *snapshot_ = nullptr; // null: no background
  std::vector<RankStates> states_;        // what is written: the live ones, or the snapshot
  SaveRequest request_;
  std::thread thread_;
  std::atomic<bool> done_{false};
  Status status_; // the thread's
  std::vector<std::string> saved_;
};

// The states of a rank as `snapshot` leaves them: where its copies of them go.
Status snapshotStates(const RankStates &live, const Rank &rank, const fb::Program &snapshot, RankStates *result);

} // namespace cleave::rt

#endif
