// Finds a host that writes pinned memory before a copy that reads it has ended.
//
// The device does not see writes of the host. So the bytes of each copy from pinned memory are stored as they were when
// the copy was enqueued, until the host learns that the copy has ended. In between, they are compared with the memory
// each time the host enqueues another copy, or learns of an end. The result does not depend on timing, because it
// depends on what the host knows, and not on when the copy ran. If the device itself writes to the memory in between,
// this is no mistake, and the copy is forgotten.
#pragma once
#include "test/cuda/emulated/memory/AddressSpace.h"
#include "test/cuda/emulated/memory/VectorClock.h"
#include <mutex>
#include <string>
#include <vector>

namespace cleave::emulated {

class PinnedUploads {
public:
  // Records a copy that has been enqueued from bytes of `from`. `clock` and `tick` are its position in the order.
  // `deviceWrites` is Allocation::deviceWrites from before the copy.
  void add(std::shared_ptr<Allocation> from, uint64_t source, std::vector<char> bytes, uint64_t deviceWrites,
           ClockId clock, uint64_t tick);
  // Returns a message if the memory of a copy has changed, and an empty string otherwise.
  std::string check();
  // Forgets copies: forgetEnded() those that the host knows to have ended, forget() those from memory that is freed.
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
