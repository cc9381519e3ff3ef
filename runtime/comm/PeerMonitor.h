// Which of the other processes still lives: turns a lost one into an error on every survivor, in bounded time.
//
// Processes stand in a ring; each sends a beat to the next one and expects one from the one before, four times a
// second, on a thread and a channel of its own. A beat says "alive", "R is leaving" (it has done its work), "lost R",
// "failed R" or "missed R" (it has left, and somebody waits for it). All but the first are passed on around the ring,
// so that all survivors name the same rank; it stays closed until everybody leaves. A peer is lost
//
//   * when it is a process of this machine that no longer exists: looked at ten times a second;
//   * when it sends no beat for CLEAVE_COMM_HEARTBEAT_S (60; 0: there are no beats) seconds, dead, stopped or cut off;
//   * when another process says so.
//
// Where a transport has no thread and channel for beats, there are none, and only the first holds (NcclCommunicator.h).
//
// Launchers help in their own way: mpirun sends SIGTERM to all others about a second after one has died. A program that
// has called noteTermination() hears of it here and says which peer is gone, instead of dying without a word; one that
// ends in good order by itself (endInOrder()) is left to do so.
// Rejected: relying on the 300 s of CLEAVE_COMM_TIMEOUT_S alone; it must be long enough for the slowest step.
#ifndef CLEAVE_RUNTIME_COMM_PEERMONITOR_H
#define CLEAVE_RUNTIME_COMM_PEERMONITOR_H

#include "runtime/base/Status.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cleave::rt {

// A process as the others see it. Process numbers mean something only among equal `machine`s.
struct PeerIdentity {
  uint64_t machine = 0;
  int64_t process = 0;

  static PeerIdentity self();
};

// What was lost first, of a message that begins with where this process noticed it:
//   "step 3: barrier: rank 1 is lost, ..."  ->  "rank 1 is lost, ...; this process was in step 3: barrier"
// Other messages stay as they are.
std::string putLossFirst(const std::string &message);

class PeerMonitor {
public:
  struct Beat {
    int32_t kind, rank;
  };
  // Sends to the next process while it receives from the one before (either null: not). Returns false when `giveUp`,
  // which is asked many times a second, has said so. `hurries` where the user waits: leaves go around the ring one by
  // one.
  using ExchangeBeats =
      std::function<bool(const Beat *toNext, Beat *fromBefore, bool hurries, const std::function<bool()> &giveUp)>;

  // Null: there are no beats.
  PeerMonitor(int rank, std::vector<PeerIdentity> peers, ExchangeBeats exchange);
  ~PeerMonitor();

  // Whether a peer is lost or has failed, or this process has; cheap.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // Whether a peer has taken leave; what it has sent before may still be on its way.
  bool hasLeft(int rank) const { return left_[static_cast<size_t>(rank)].load(std::memory_order_relaxed); }
  // A peer has left, and this process waits for it: an error for all.
  void miss(int rank);
  // Why, as PeerLost.
  Status reason() const;
  // This process has failed: the others are told.
  void fail();
  // Takes leave of the others, who must do so too. The last call.
  void stop();

private:
  enum Kind : int32_t { Alive, Leaving, Lost, Failed, Missed };

  int next() const { return (rank_ + 1) % static_cast<int>(peers_.size()); }
  void run();
  void exchangeBeat(bool hearsFrom, bool speaksTo);
  void hear(const Beat &beat);
  bool look();
  void lose(int rank, std::string text, Kind kind = Lost);
  int findDead() const;
  void passOn(bool speaksTo);
  void insist();

  int rank_;
  std::vector<PeerIdentity> peers_;
  ExchangeBeats exchange_;
  double limitSeconds_;
  std::atomic<bool> failed_{false}, stopping_{false};
  mutable std::atomic<bool> reported_{false};
  mutable std::mutex mutex_; // what follows
  std::condition_variable changed_;
  Beat news_{Alive, -1};
  std::string text_;
  std::vector<std::atomic<bool>> left_; // by rank
  // The thread's own; times are seconds. Each process hears and tells of all others' leave once.
  double heardAt_ = 0, lookedAt_ = 0, terminatedAt_ = 0;
  std::deque<int> leaving_; // yet to be told
  size_t heardLeaving_ = 0, toldLeaving_ = 0;
  std::thread thread_;
};

// One exchange's wait for two peers, as its poll sees it: vain once all is lost, or one of them has taken leave and what
// it had sent before has had time to come.
class PeerWait {
public:
  explicit PeerWait(PeerMonitor &monitor) : monitor_(monitor) {}
  // -1: that side is done.
  bool isVain(int from, int to);

private:
  PeerMonitor &monitor_;
  uint64_t alone_ = 0; // since when one of them is known to have left; 0: neither
};

} // namespace cleave::rt

#endif
