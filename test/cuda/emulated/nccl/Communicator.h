// A rank's communicator, and how it ends: as NCCL 2.28.9 has it (src/init.cc: commDestroySync, commReclaim).
//
//   ncclCommAbort     tells the rank's kernels to end, then as ncclCommDestroy
//   ncclCommDestroy   of all ranks of one communicator in this process, the last that calls either of both waits for
//                     all of them, then frees all of them. The others return at once
//   ncclCommFinalize  waits for this rank's
//
// What is waited for are kernels under way, and graphs that have captured the communicator (localPersistentRefs):
// captures, templates and executables alike, until the last of them is destroyed, and is not running any more.
#pragma once
#include "test/cuda/emulated/nccl/ProcessClique.h"

namespace cleave::emulated::nccl {

enum class Life { Living, Aborted, Destroyed };

// Operations of a communicator that are not over, or that a graph may run again.
class OpenWork {
public:
  void begin(bool isCaptured);
  void end(bool isCaptured);
  // Waits without a limit. After a while it says so: `call` of `rank` does.
  void wait(const char *call, int rank);

private:
  std::mutex mutex; // what follows
  std::condition_variable changed;
  int captured = 0, underWay = 0;
};

class Siblings;

struct Communicator {
  std::atomic<Life> life{Life::Living};
  std::atomic<bool> isFinalized{false};
  std::unique_ptr<Gathering> meeting; // of those that ncclCommInitRank makes
  std::shared_ptr<Clique> clique;
  std::shared_ptr<Siblings> siblings;
  OpenWork work;
  int rank = 0;
  Stop stop{false};
  std::atomic<uint64_t> calls{0};
  std::atomic<int> splits{0};
  std::string id;
};

// Those of one communicator whose ranks are in this process.
class Siblings {
public:
  // Before the ranks meet: all that are in this process have come when the first one of them has met the others.
  static void join(Communicator &comm);
  // Of a communicator that is split from `parent`: its ranks in this process are known.
  static void join(Communicator &comm, Communicator &parent, const std::vector<int> &ranksOfParent);
  // `comm` ends. The last one gets all of them, the others none.
  std::vector<Communicator *> leave();

private:
  static std::shared_ptr<Siblings> of(const std::string &id);
  size_t countOf(const std::vector<int> &ranks);
  std::mutex mutex; // what follows
  std::vector<Communicator *> members;
  size_t expected = 0, left = 0;
};

// ncclCommDestroy, and ncclCommAbort once its kernels have been told.
void reclaim(Communicator &comm, const char *call);

} // namespace cleave::emulated::nccl
