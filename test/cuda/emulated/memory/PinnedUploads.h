// Finds a host that writes pinned memory before a copy that reads it has ended.
//
// The device does not see what the host writes. So the bytes of each copy from pinned memory are kept as they were when
// it was enqueued, until the host learns that the copy has ended; in between, whenever the host enqueues another or
// learns of an end, they must be the same still. That holds in any timing, since it asks what the host knows, and not
// when the copy ran. What the device itself writes there in between is no mistake: such a copy is forgotten.
#pragma once
#include "test/cuda/emulated/memory/AddressSpace.h"
#include "test/cuda/emulated/memory/VectorClock.h"
#include <mutex>
#include <string>
#include <vector>

namespace cleave::emulated {

class PinnedUploads {
public:
  // A copy from bytes of `from` has been enqueued: clock and tick of its place in the order. `deviceWrites` is
  // Allocation::deviceWrites before it was.
  void add(std::shared_ptr<Allocation> from, uint64_t source, std::vector<char> bytes, uint64_t deviceWrites,
           ClockId clock, uint64_t tick);
  // What is wrong, if anything is.
  std::string check();
  // Forgets the copies that the host knows to have ended, or those from memory that it gives back.
  void forgetEnded(const VectorClock &host);
  void forget(uint64_t allocation);

private:
  struct Upload {
    std::shared_ptr<Allocation> from;
    uint64_t source;
    std::vector<char> bytes;
    uint64_t deviceWrites;
    ClockId clock;
    uint64_t tick;
  };
  std::mutex mutex;
  std::vector<Upload> uploads;
};

} // namespace cleave::emulated
