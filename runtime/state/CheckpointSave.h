// Saving a checkpoint, step by step, so that a crash between any two steps leaves a loadable directory:
//
//   DIR/latest               "step-00000100", replaced by rename
//   DIR/best                 likewise, for the best validation loss
//   DIR/step-00000100/       rank-00000.safetensors ... (or model.safetensors), checkpoint.json; appears whole (rename)
//   DIR/.step-00000200.tmp/  being written, or left by a crash; recoverCheckpoints() removes it
//
// Every process calls writeShard() for its ranks, or takes part in writing the full file (CheckpointSaver.h of
// runtime/train/checkpoint); one, the leader, does the rest. Between prepare(), the parts and publish() all processes
// must agree that all is well so far.
#ifndef CLEAVE_RUNTIME_STATE_CHECKPOINTSAVE_H
#define CLEAVE_RUNTIME_STATE_CHECKPOINTSAVE_H

#include "runtime/state/CheckpointIndex.h"

#include <functional>
#include <map>
#include <string_view>

namespace cleave::rt {

// Directories that this process has made and that are still empty go with it: a run that fails before its first
// checkpoint leaves nothing.
class NewDirectories {
public:
  NewDirectories() = default;
  ~NewDirectories();
  NewDirectories(NewDirectories &&) = default;
  NewDirectories &operator=(NewDirectories &&other) noexcept {
    std::swap(made_, other.made_);
    return *this;
  }
  // Makes DIR and what is missing above it.
  static Status make(const std::string &directory, NewDirectories *result);

private:
  std::vector<std::string> made_; // outermost first
};

// A file that one process makes in DIR, so that others can see whether DIR is the same directory for them. It goes with
// the object.
class DirectoryMark {
public:
  DirectoryMark() = default;
  ~DirectoryMark();
  DirectoryMark(const DirectoryMark &) = delete;
  DirectoryMark &operator=(const DirectoryMark &) = delete;

  // `number` says which mark it is.
  Status make(const std::string &directory, uint64_t *number);
  // Waits a moment: a network's directory may be some seconds late.
  static Status find(const std::string &directory, uint64_t number);

private:
  std::string path_;
};

class CheckpointSave {
public:
  CheckpointSave(std::string directory, uint64_t step);

  // Tries to write into DIR, and all files there that a save replaces: what cannot be written shows before training.
  static Status probe(const std::string &directory);
  // Leader: makes DIR and an empty directory aside.
  Status prepare() const;
  // The slices that this rank owns; no file when it owns none.
  Status writeShard(const fb::Plan &plan, unsigned rank, const RankStates &states) const;
  // Leader: one file with all tensors, brought piece by piece in the order of the sharded index. `visit` calls
  // `append` for each piece of a slice.
  using Append = std::function<Status(const std::byte *data, size_t bytes)>;
  using VisitSlice = std::function<Status(const CheckpointTensor &, const CheckpointSlice &, const Append &append)>;
  Status writeFull(const CheckpointIndex &sharded, const VisitSlice &visit) const;
  // Leader: removes the directory aside, after a failure.
  void discard() const;
  // Leader: writes the index and gives the directory its name. Fails where another process could not write its part.
  Status publish(const CheckpointIndex &index) const;
  // Leader: makes DIR/latest (or DIR/best) name this checkpoint.
  Status point(const std::string &pointer) const;
  // Leader: removes DIR/best (or DIR/latest) where it names this checkpoint; `*did` says whether it was so.
  Status unpoint(const std::string &pointer, bool *did) const;

  const std::string &name() const { return name_; }
  std::string path() const { return directory_ + "/" + name_; } // "DIR/step-00000100"

private:
  std::string directory_, name_, aside_;
};

// Removes all but the newest `keep` checkpoints up to the one that `latest` names; that and what `best` names always
// stay. keep 0 removes none.
Status pruneCheckpoints(const std::string &directory, unsigned keep);

// Which checkpoints of one directory were saved for being the best alone (CheckpointIndex::isOnlyBest). The index of each
// is read once, however often checkpoints are removed.
class FormerBests {
public:
  // A checkpoint was saved under this name.
  void add(const std::string &name, bool isOnlyBest) { isOnlyBest_[name] = isOnlyBest; }
  // Keeps `keep` of the best: the one that `best` names, and the newest of these, up to the one that `latest` names.
  // Removes the rest of them. keep 0 removes none.
  Status prune(const std::string &directory, unsigned keep);

private:
  bool isOnlyBest(const std::string &directory, const std::string &name);

  std::map<std::string, bool> isOnlyBest_; // by name
};

// "step-00000100": the name of the checkpoint that is saved after that step.
std::string stepName(uint64_t step);
// Whether stepName() gives this name. A directory of another name, such as a copy that a user has put aside, is
// nobody's: it is neither counted nor removed, and taken only where the user gives that name.
bool isStepName(std::string_view name);
// The names of the checkpoints in DIR (isStepName()) that have an index, the newest last.
std::vector<std::string> listCheckpoints(const std::string &directory);
// The name in DIR/latest or DIR/best; empty when there is none, or it is not the plain name of a checkpoint.
std::string readPointer(const std::string &directory, const std::string &pointer);
// Whether a path is DIR/latest or DIR/best, which name a checkpoint of DIR.
bool isCheckpointPointer(const std::string &path);
// The checkpoint, or the directory of checkpoints, of which a file at `path` is or would be a part; empty where it is none
// of theirs. Nothing but a save may write there.
std::string checkpointAround(const std::string &path);
// The checkpoint that the user means by a path: itself, what the pointer names, what its `latest` names, or the newest
// one in it. `note` (or null) is a line for the user where the newest one stands in for what `latest` names.
Status resolveCheckpoint(const std::string &path, std::string *result, std::string *note = nullptr);

// Puts a directory right that a killed process has left: removes what was being written or removed. Nothing that is
// not ours is touched; a directory that does not exist is right.
Status recoverCheckpoints(const std::string &directory);

// Keeps other processes from saving into the same directory, until it goes or the process dies. Nothing is written for
// it. A file system without locks is let pass with a warning.
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

private:
  int fd_ = -1;
};

// What an error of flock() means for a directory: another process has the lock, or there is none to be had, of which
// `warning` tells.
Status lockOutcome(int error, const std::string &directory, std::string *warning);

} // namespace cleave::rt

#endif
