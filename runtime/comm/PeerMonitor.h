// Watches whether the other processes live. It turns a lost process into an error on every survivor, in bounded time.
//
// The processes form a ring. Several times a second, each sends a beat to the next process and expects one from the
// previous. A separate thread does this, on a separate channel. A beat says "alive", "R is leaving" (it has done its
// work), "lost R", "failed R" or "missed R" (it has left, but another rank waits for it). All beats except the first
// are passed on around the ring, so all survivors name the same rank. The ring stays closed until all ranks leave. A
// peer is lost
//
//   * when it is a process of this machine that no longer exists (tested ten times a second);
//   * when it has sent no beat for CLEAVE_COMM_HEARTBEAT_S (60; 0: there are no beats) s: dead, stopped or cut off;
//   * when another process says so.
//
// If a transport has no thread and channel for beats, there are none, and only the first rule applies
// (NcclCommunicator.h).
//
// Launchers act too: mpirun sends SIGTERM to all others about a second after a process has died. A program that has
// called noteTermination() notices that here, and reports which peer is gone instead of ending silently. A program that
// ends in good order by itself (endInOrder()) is left alone.
// Rejected: relying only on CLEAVE_COMM_TIMEOUT_S, which is 300 s. It must be longer than the slowest step.
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

// How the others identify a process. Process numbers can be compared only if `machine` is equal.
struct PeerIdentity {
  uint64_t machine = 0;
  int64_t process = 0;
  double beatLimit = 0; // its CLEAVE_COMM_HEARTBEAT_S

  static PeerIdentity self();
};

// Fails if the processes have different limits for beats: one that sends none is dead for one that waits for them. To
// be called before monitors start. Launchers pass variables to other machines only if they are told to.
Status checkSameBeats(const std::vector<PeerIdentity> &peers);

// Moves the loss to the front of a message that begins with the place where this process noticed it:
//
//   "step 3: barrier: rank 1 is lost, ..."  ->  "rank 1 is lost, ...; this process was in step 3: barrier"
//
// Other messages stay as they are.
std::string putLossFirst(const std::string &message);

class PeerMonitor {
public:
  struct Beat {
    int32_t kind, rank;
  };
  // Sends a beat to the next process while it receives one from the previous (null: leaves that side out). Returns
  // false once `giveUp` has returned true. `giveUp` is called many times a second. `hurries` is true when the user
  // waits for the end: the ranks' leaves go around the ring one at a time, so they are polled more often.
  using ExchangeBeats =
      std::function<bool(const Beat *toNext, Beat *fromBefore, bool hurries, const std::function<bool()> &giveUp)>;

  // If `exchange` is null, there are no beats.
  PeerMonitor(int rank, std::vector<PeerIdentity> peers, ExchangeBeats exchange);
  ~PeerMonitor();

  // True if a peer is lost or has failed, or this process has failed. It is cheap to call.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // True if a peer has left. Messages that it sent before may still be on their way.
  bool hasLeft(int rank) const { return left_[static_cast<size_t>(rank)].load(std::memory_order_relaxed); }
  // Reports an error to all: a peer has left, but this process waits for it.
  void miss(int rank);
  // Returns the reason of failed(), as PeerLost.
  Status reason() const;
  // Tells the others that this process has failed.
  void fail();
  // Leaves the others, which must leave too. No other call may follow.
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
  mutable std::mutex mutex_; // guards news_ and text_
  std::condition_variable changed_;
  Beat news_{Alive, -1};
  std::string text_;
  std::vector<std::atomic<bool>> left_; // by rank
  // Used only by the thread. Times are in seconds. Each process hears and passes on the leave of each other process
  // once.
  double heardAt_ = 0, lookedAt_ = 0, terminatedAt_ = 0;
  std::deque<int> leaving_; // leaves that were not passed on yet
  size_t heardLeaving_ = 0, toldLeaving_ = 0;
  std::thread thread_;
};

// The wait of one exchange for two peers. It is in vain if a process is lost or has failed. It is also in vain if one
// of the two has left, and messages that it sent before have had enough time to arrive.
class PeerWait {
public:
  explicit PeerWait(PeerMonitor &monitor) : monitor_(monitor) {}
  // Returns true if the wait is in vain. A rank of -1 means that this side is done.
  bool isVain(int from, int to);

private:
  PeerMonitor &monitor_;
  uint64_t alone_ = 0; // when the first of them was seen to have left, in nanoseconds; 0: none has
};

} // namespace cleave::rt

#endif
