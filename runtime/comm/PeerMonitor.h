// Which of the other processes still lives: turns a lost one into an error on every survivor, in bounded time.
//
// Processes stand in a ring; each sends a beat to the next one and expects one from the one before, four times a
// second, on a thread and a channel of its own. A beat says "alive", "leaving" (this process has done its work), "lost
// R" or "failed R", and the latter two are passed on around the ring, so that all survivors name the same rank. A peer
// is lost
//
//   * when it is a process of this machine that no longer exists: looked at ten times a second;
//   * when it sends no beat for CLEAVE_COMM_HEARTBEAT_S (60; 0: there are no beats) seconds, dead, stopped or cut off;
//   * when another process says so.
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

class PeerMonitor {
public:
  struct Beat {
    int32_t kind, rank;
  };
  // Sends to the next process while it receives from the one before (either null: not). Returns false when `giveUp`,
  // which is asked many times a second, has said so.
  using ExchangeBeats = std::function<bool(const Beat *toNext, Beat *fromBefore, const std::function<bool()> &giveUp)>;

  PeerMonitor(int rank, std::vector<PeerIdentity> peers, ExchangeBeats exchange);
  ~PeerMonitor();

  // Whether a peer is lost or has failed, or this process has; cheap.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // Why, as PeerLost.
  Status reason() const;
  // This process has failed: the others are told.
  void fail();
  // Takes leave of the neighbours, who must do so too. The last call.
  void stop();

private:
  enum Kind : int32_t { Alive, Leaving, Lost, Failed };

  void run();
  void exchangeBeat(bool *hearsFrom, bool *speaksTo);
  void hear(const Beat &beat, bool *hearsFrom);
  bool look();
  void lose(int rank, std::string text, Kind kind = Lost);
  int findDead() const;
  void passOn();
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
  double heardAt_ = 0, lookedAt_ = 0, terminatedAt_ = 0; // seconds; the thread's own
  std::thread thread_;
};

} // namespace cleave::rt

#endif
