// Saves a checkpoint in steps, so that a crash between any two steps leaves a directory that can be loaded:
//
//   DIR/latest               "step-00000100", replaced by rename
//   DIR/best                 likewise, for the best validation loss
//   DIR/step-00000100/       rank-00000.safetensors ... (or model.safetensors), checkpoint.json; appears by one rename
//   DIR/.step-00000200.tmp/  is being written, or was left by a crash; recoverCheckpoints() removes it
//
// Every process calls writeShard() for its ranks, or takes part in writing the full file (CheckpointSaver.h of
// runtime/train/checkpoint). One process, the leader, does the rest. After prepare(), after the parts and after
// publish(), all processes must agree that there was no error so far.
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINTSAVE_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINTSAVE_H

#include "runtime/state/CheckpointIndex.h"

#include <functional>
#include <map>
#include <string_view>

namespace cleave::rt {

// Directories that this process has created. Those that are still empty when the object is destroyed are removed, so a
// run that fails before its first checkpoint leaves nothing.
class NewDirectories {
public:
  NewDirectories() = default;
  ~NewDirectories();
  NewDirectories(NewDirectories &&) = default;
  NewDirectories &operator=(NewDirectories &&other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }
  // Creates DIR and all missing directories above it.
  static Status make(const std::string &directory, NewDirectories *result);

private:
  std::vector<std::string> made_; // outermost first
};

// A file that one process creates in DIR, so that other processes can check whether they see the same directory. The
// destructor removes it.
class DirectoryMark {
public:
  DirectoryMark() = default;
  ~DirectoryMark();
  DirectoryMark(const DirectoryMark &) = delete;
  DirectoryMark &operator=(const DirectoryMark &) = delete;

  // Creates the mark. `number` identifies it.
  Status make(const std::string &directory, uint64_t *number);
  // Checks that the mark is there. Waits a moment, because directories of a network may be some seconds late.
  static Status find(const std::string &directory, uint64_t number);

private:
  std::string path_;
};

class CheckpointLock;

class CheckpointSave {
public:
  CheckpointSave(std::string directory, uint64_t step);

  // Tries to write into DIR, and to replace every file there that a save replaces. So errors are found before training.
  static Status probe(const std::string &directory);
  // Leader: creates DIR, and an empty directory in it that the parts are written to. Before anything is written, `lock`
  // follows DIR's name. It may be null.
  Status prepare(CheckpointLock *lock = nullptr) const;
  // Writes the slices that this rank owns. If it owns none, no file is written.
  Status writeShard(const fb::Plan &plan, unsigned rank, const RankStates &states) const;
  // Leader: writes one file with all tensors. `visit` is called for each slice, in the order of the sharded index, and
  // calls `append` for each piece of the slice.
  using Append = std::function<Status(const std::byte *data, size_t bytes)>;
  using VisitSlice = std::function<Status(const CheckpointTensor &, const CheckpointSlice &, const Append &append)>;
  Status writeFull(const CheckpointIndex &sharded, const VisitSlice &visit) const;
  // Leader: removes the directory of the parts after a failure.
  void discard() const;
  // Leader: writes the index and gives the directory its name. Fails if another process could not write its part.
  Status publish(const CheckpointIndex &index) const;
  // Leader: makes DIR/latest (or DIR/best) refer to this checkpoint.
  Status point(const std::string &pointer) const;
  // Leader: removes DIR/best (or DIR/latest) if it refers to this checkpoint. `*did` is true if it was removed.
  Status unpoint(const std::string &pointer, bool *did) const;

  const std::string &name() const { return name_; }
  std::string path() const { return directory_ + "/" + name_; } // "DIR/step-00000100"

private:
  std::string directory_, name_, aside_;
};

// The checkpoints in the directory of --save that a run has saved, or that it continues from. A directory may have
// those of other runs too, and these are never removed. Nothing is removed if `keep` is 0. For a checkpoint that cannot
// be removed there is a warning.
class RunCheckpoints {
public:
  // To be called if a run continues from a checkpoint of the directory: adds the checkpoints of run `run` (kRunFact) up
  // to that of `step`. Later ones belong to a run that went on from there before.
  void adopt(const std::string &directory, uint64_t step, const std::string &run);
  // To be called after a checkpoint was saved with this name.
  void add(const std::string &name, bool isOnlyBest) { isOnlyBest_[name] = isOnlyBest; }
  size_t size() const { return isOnlyBest_.size(); }
  // Removes all but the newest `keep`. Those that `latest` and `best` name always stay.
  Status prune(const std::string &directory, unsigned keep);
  // Removes those that were saved only because they were the best so far (CheckpointIndex::isOnlyBest), except the
  // newest `keep` of them. The one that `best` names counts as one of them, and always stays, as does the one that
  // `latest` names.
  Status pruneBests(const std::string &directory, unsigned keep);

private:
  std::vector<std::string> namesIn(const std::string &directory) const;

  std::map<std::string, bool> isOnlyBest_; // by name
};

// "step-00000100": the name of the checkpoint that is saved after that step.
std::string stepName(uint64_t step);
// True if stepName() gives this name. A directory with another name, such as a copy that a user has made, is neither
// counted nor removed. It is used only if the user gives its name.
bool isStepName(std::string_view name);
// Finds the names of the checkpoints in DIR (isStepName()) that have an index, the newest last. Fails if the file system
// cannot tell for one of them. DIR itself may be missing.
Status findCheckpoints(const std::string &directory, std::vector<std::string> *names);
// Those of them that can be seen, for advice and for counts.
std::vector<std::string> listCheckpoints(const std::string &directory);
// Reads the name in DIR/latest or DIR/best. Empty if there is none, or if it is not a name of stepName(). Fails if the
// file is there and cannot be read.
Status readPointer(const std::string &directory, const std::string &pointer, std::string *result);
// True if the path is a file DIR/latest or DIR/best, which names a checkpoint of DIR.
bool isCheckpointPointer(const std::string &path);
// Returns the checkpoint, or the directory of checkpoints, that a file at `path` is or would be a part of; empty if
// there is none. Only a save may write there.
std::string checkpointAround(const std::string &path);
// Finds the checkpoint that a user means by a path: the path itself, the checkpoint that the pointer names, the one
// that its `latest` names, or the newest one in it. `note` may be null. If the newest one replaces the one that
// `latest` names, `note` gets a line for the user. The code is NotFound only if there is certainly no checkpoint. If the
// file system gives an error, that error is returned, because a run that began anew would replace the checkpoint.
Status resolveCheckpoint(const std::string &path, std::string *result, std::string *note = nullptr);

// Repairs a directory after a process was killed: removes checkpoints that were being written or removed. Other files
// are not touched. A directory that does not exist needs no repair.
Status recoverCheckpoints(const std::string &directory);

// Keeps other processes from saving into the same directory, until it is destroyed or the process ends. It writes
// nothing. If the file system has no locks, there is a warning.
class CheckpointLock {
public:
  CheckpointLock() = default;
  ~CheckpointLock();
  CheckpointLock(CheckpointLock &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  CheckpointLock &operator=(CheckpointLock &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  static Status take(const std::string &directory, CheckpointLock *result);
  // Locks the directory that has the name now, if it is not the locked one. Somebody may have moved or removed that one
  // while the run goes on, and another run may have made a new one.
  Status follow(const std::string &directory);

private:
  int fd_ = -1;
};

// The meaning of an error of flock(): fails if another process has the lock. If the lock is not available for another
// reason, `warning` is set.
Status lockOutcome(int error, const std::string &directory, std::string *warning);

} // namespace cleave::rt

#endif
