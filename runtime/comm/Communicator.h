// How ranks talk: point-to-point exchange of bytes. Everything else is built on it once, for all transports.
//
// A transport implements one thing, doExchange(): send some bytes to one rank while receiving some from another. The
// ring algorithms (Ring.h), the barrier and the broadcast are made of it, so the order of summation and the bytes
// that move do not depend on the transport, and are counted at the single place where they move.
//
// A *channel* is an order of messages between two ranks: each stream's collectives have one, and what a plan sends from
// rank to rank has those that it names; one belongs to the thread that writes checkpoints, one to what the host's
// side agrees on between steps (their bytes are not counted: plans say nothing of them). The messages of a channel come
// in the plan's order, so nothing else identifies them, and collectives of different channels (an FSDP gather and a
// reduction) may be under way at the same time, in any order. Streams beyond the last channel share it, and a thread.
// One tag per collective was rejected: it hides a plan whose ranks disagree, where a channel gives an error about
// sizes.
//
// For tests of overlap, CLEAVE_COMM_DELAY_US (per exchange) and CLEAVE_COMM_BYTES_PER_S stretch every exchange on both
// sides, from when both have come; the waiting threads sleep, as they would for a slow network. CLEAVE_COMM_TIMEOUT_S
// (300) bounds every wait for a peer; PeerMonitor.h finds lost processes sooner.
#ifndef CLEAVE_RUNTIME_COMM_COMMUNICATOR_H
#define CLEAVE_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cleave::rt {

constexpr unsigned kStreamChannels = 8;             // of the streams' collectives
constexpr unsigned kChannels = kStreamChannels + 8; // and of sends and receives (kTransferChannels of Opcode.h)
constexpr unsigned kCheckpointChannel = kChannels;
constexpr unsigned kControlChannel = kChannels + 1;
constexpr unsigned kAllChannels = kChannels + 2;

// One step: `sendBytes` go to rank `to` while `receiveBytes` come from rank `from`; -1 where there is no such side.
struct Exchange {
  int to = -1;
  const void *sendData = nullptr;
  size_t sendBytes = 0;
  int from = -1;
  void *receiveData = nullptr;
  size_t receiveBytes = 0;
  unsigned channel = 0;
};

// InvalidArgument where CLEAVE_COMM_TIMEOUT_S is not a positive number: to be asked before ranks are made.
Status checkCommTimeout();

class Communicator {
public:
  virtual ~Communicator() = default;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Returns when both sides are done. The peer must post the same size.
  Status exchange(const Exchange &step);
  Status send(int to, const void *data, size_t bytes, unsigned channel = 0);
  Status receive(int from, void *data, size_t bytes, unsigned channel = 0);
  // Between steps, on the thread that runs programs.
  Status barrier();
  Status broadcast(void *data, size_t bytes, int root, unsigned channel = 0);
  // A barrier that tells everybody whether all ranks came with `mine` set.
  Status agree(bool mine, bool *all, unsigned channel = 0);
  // Likewise, the largest number that a rank came with.
  Status maximum(uint32_t mine, uint32_t *largest, unsigned channel = 0);

  // Everybody's `bytes`, side by side in `all`, by rank.
  Status allGather(const void *mine, size_t bytes, void *all, unsigned channel = 0);

  // Tells all other ranks that this one has failed; their pending and later calls return PeerLost with the reason.
  virtual void abort(const Status &reason) = 0;
  // Not ok when a rank has aborted; cheap.
  virtual Status health() const = 0;
  virtual const char *transport() const = 0;
  // Whether several threads may exchange at the same time, each on channels of its own. Where not, one thread does, and
  // its calls are in the same order on all ranks.
  virtual bool servesThreads() const { return true; }

  // Payload bytes that left this rank, since creation.
  uint64_t bytesSent() const { return bytesSent_.load(std::memory_order_relaxed); }
  // And those that left it by other ways (a device that talks to devices).
  void countSent(uint64_t bytes) { bytesSent_.fetch_add(bytes, std::memory_order_relaxed); }
  // How long to wait for a peer.
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
