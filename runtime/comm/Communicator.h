// How ranks communicate: point-to-point exchange of bytes. Everything else is built on it once, for all transports.
//
// A transport implements only doExchange(): it sends some bytes to one rank while it receives some from another. The
// ring algorithms (Ring.h), the barrier and the broadcast use it. So the order of summation and the bytes that move do
// not depend on the transport, and bytes are counted at the one place where they move.
//
// A *channel* is a sequence of messages between two ranks. The collectives of each stream have a channel. The sends and
// receives of a plan have the channels that they name. The thread that writes checkpoints has one, and so has the
// agreement of hosts between steps. (The bytes of these two are not counted, because plans do not contain them.) The
// messages of a channel come in the plan's order, so nothing else identifies them. Collectives on different channels (a
// gather of FSDP and a reduction) may be under way at the same time, in any order. Streams beyond the last channel
// share it, and a thread. A tag for each collective was rejected: it would hide that the plans of ranks disagree. A
// channel reports it by a wrong size.
//
// For tests of overlap, CLEAVE_COMM_DELAY_US (per exchange) and CLEAVE_COMM_BYTES_PER_S make every exchange longer on
// both sides, from the time when both ranks have arrived. The waiting threads sleep, as they would with a slow network.
// CLEAVE_COMM_TIMEOUT_S (300) limits every wait for a peer. PeerMonitor.h finds lost processes sooner.
#ifndef CLEAVE_RUNTIME_COMM_COMMUNICATOR_H
#define CLEAVE_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/Log.h"
#include "runtime/base/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cleave::rt {

constexpr unsigned kStreamChannels = 8;             // for collectives of streams
constexpr unsigned kChannels = kStreamChannels + 8; // and for sends and receives (kTransferChannels of Opcode.h)
constexpr unsigned kCheckpointChannel = kChannels;
constexpr unsigned kControlChannel = kChannels + 1;
constexpr unsigned kAllChannels = kChannels + 2;

// One exchange: `sendBytes` go to rank `to` while `receiveBytes` come from rank `from`. -1 leaves a side out.
struct Exchange {
  int to = -1;
  const void *sendData = nullptr;
  size_t sendBytes = 0;
  int from = -1;
  void *receiveData = nullptr;
  size_t receiveBytes = 0;
  unsigned channel = 0;
};

constexpr double kLongestSeconds = 1e9; // all times of this file are at most so long: 32 years
constexpr EnvNumber kCommTimeout = {"CLEAVE_COMM_TIMEOUT_S", 300, 1e-9, kLongestSeconds,
                                    "a positive number of seconds, at most 1e9"};
// At least 1 s: processes send beats, and look for those of others, every 0.1 s.
constexpr EnvNumber kCommHeartbeat = {
    "CLEAVE_COMM_HEARTBEAT_S", 60, 1, kLongestSeconds, "a number of seconds from 1 to 1e9, or 0 for no limit", true};
constexpr EnvNumber kCommDelay = {"CLEAVE_COMM_DELAY_US", 0, 0, 1e15, "a number of microseconds from 0 to 1e15"};
constexpr EnvNumber kCommRate = {"CLEAVE_COMM_BYTES_PER_S", 0, 0, 1e18, "a number of bytes from 0 to 1e18"};

// Returns InvalidArgument if one of these variables has no valid value. Call it before ranks are made.
Status checkCommVariables();

class Communicator {
public:
  virtual ~Communicator() = default;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Returns when both sides are done. The peer must give the same size.
  Status exchange(const Exchange &step);
  Status send(int to, const void *data, size_t bytes, unsigned channel = 0);
  Status receive(int from, void *data, size_t bytes, unsigned channel = 0);
  // Must be called between steps, on the thread that runs programs.
  Status barrier();
  Status broadcast(void *data, size_t bytes, int root, unsigned channel = 0);
  // A barrier that sets `*all` to true if `mine` is true on all ranks.
  Status agree(bool mine, bool *all, unsigned channel = 0);
  // A barrier that returns the largest `mine` of all ranks.
  Status maximum(uint32_t mine, uint32_t *largest, unsigned channel = 0);

  // A barrier that sets `*text` to the first text of the ranks, in their order, that is not empty. Longer ones than 999
  // bytes are cut.
  Status firstText(std::string *text, unsigned channel = 0);

  // Gathers `bytes` of every rank, ordered by rank, in `all`.
  Status allGather(const void *mine, size_t bytes, void *all, unsigned channel = 0);

  // Tells all other ranks that this one has failed. Their pending and later calls return PeerLost with the reason.
  virtual void abort(const Status &reason) = 0;
  // Not ok if a rank has aborted. It is cheap to call.
  virtual Status health() const = 0;
  virtual const char *transport() const = 0;
  // True if several threads may exchange at the same time, each on its own channels. Otherwise only one thread may
  // exchange, and its calls must be in the same order on all ranks.
  virtual bool servesThreads() const { return true; }

  // The bytes of messages that this rank has sent, since it was created.
  uint64_t bytesSent() const { return bytesSent_.load(std::memory_order_relaxed); }
  // Adds bytes that a device has sent directly to other devices.
  void countSent(uint64_t bytes) { bytesSent_.fetch_add(bytes, std::memory_order_relaxed); }
  // The longest time to wait for a peer.
  double timeoutSeconds() const { return timeoutSeconds_; }

protected:
  Communicator(int rank, int size);
  virtual Status doExchange(const Exchange &step) = 0;

private:
  void stretch(size_t bytes) const;

  int rank_, size_;
  double timeoutSeconds_, delaySeconds_, bytesPerSecond_;
  std::atomic<uint64_t> bytesSent_{0};
};

} // namespace cleave::rt

#endif
