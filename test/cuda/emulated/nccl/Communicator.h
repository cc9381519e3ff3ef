// A rank's communicator, and how it ends. This follows NCCL 2.28.9 (src/init.cc: commDestroySync, commReclaim).
//
//   ncclCommAbort     tells the rank's kernels to end, and then does the same as ncclCommDestroy
//   ncclCommDestroy   counts the ranks of the communicator in this process that have called either of the two. The last
//                     one waits for the work of all of them, and frees all of them. The others return at once
//   ncclCommFinalize  waits for the work of this rank
//
// The work is: kernels under way, and graphs that have captured the communicator (localPersistentRefs). These are
// captures, templates and executables alike, until the last of them is destroyed and does not run any more.
#pragma once
#include "test/cuda/emulated/nccl/ProcessClique.h"

namespace cleave::emulated::nccl {

enum class Life { Living, Aborted, Destroyed };

// Counts the operations of a communicator that have not ended, or that a graph may run again.
class OpenWork {
public:
  void begin(bool isCaptured);
  void end(bool isCaptured);
  // Waits without a limit. After a while it prints a message that names `call` and `rank`.
  void wait(const char *call, int rank);

private:
  std::mutex mutex; // guards the fields below
  std::condition_variable changed;
  int captured = 0, underWay = 0;
};

class Siblings;

struct Communicator {
  std::atomic<Life> life{Life::Living};
  std::atomic<bool> isFinalized{false};
  std::unique_ptr<Gathering> meeting; // of communicators that ncclCommInitRank makes
  std::shared_ptr<Clique> clique;
  std::shared_ptr<Siblings> siblings;
  OpenWork work;
  int rank = 0;
  Stop stop{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<int> splits{0};
  std::string id;
};

// The ranks of one communicator that are in this process.
class Siblings {
public:
  // Must be called before the ranks meet: when the first rank has met the others, all ranks of this process have
  // joined.
  static void join(Communicator &comm);
  // For a communicator that is split from `parent`. Its ranks in this process are known.
  static void join(Communicator &comm, Communicator &parent, const std::vector<int> &ranksOfParent);
  // Called when `comm` ends. Returns all communicators to the last caller, and none to the others.
  std::vector<Communicator *> leave();

private:
  static std::shared_ptr<Siblings> of(const std::string &id);
  size_t countOf(const std::vector<int> &ranks);
  std::mutex mutex; // guards the fields below
  std::vector<Communicator *> members;
  size_t expected = 0, left = 0;
};

// Does the work of ncclCommDestroy, and the part of ncclCommAbort after its kernels have been told to end.
void reclaim(Communicator &comm, const char *call);

} // namespace cleave::emulated::nccl
