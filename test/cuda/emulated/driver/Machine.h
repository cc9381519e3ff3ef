// The state of the emulated machine. There is one object, which is made when the library is first used.
//
// An error of an operation is *sticky*, as with a real device: the context is lost, and every later call that needs a
// context returns the same error. Mistakes that a real device would let pass (races, reads of memory that nothing
// wrote) are sticky errors too, so that a test with such a mistake fails. Their texts go to stderr.
#pragma once
#include "test/cuda/emulated/driver/Codes.h"
#include "test/cuda/emulated/driver/Options.h"
#include "test/cuda/emulated/memory/AddressSpace.h"
#include "test/cuda/emulated/memory/PinnedUploads.h"
#include "test/cuda/emulated/memory/RaceDetector.h"
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace cleave::emulated {

class Machine {
public:
  static Machine &get();

  Options options;
  AddressSpace memory;
  RaceDetector races;
  PinnedUploads uploads;

  // ---- findings
  // Stores and prints a finding. If `code` is not 0 and there is no sticky error yet, it becomes the sticky error.
  void report(int code, const std::string &message);
  int stickyError() const { return sticky.load(); }
  std::vector<std::string> findings() const;
  void clearFindings(); // for tests that plant several bugs in one process
  // The text that cuGetErrorString returns for a sticky error: the text of its finding.
  const char *textOf(int code);

  std::atomic<uint64_t> plainCopies{0}; // between the device and host memory that is not pinned

  // ---- the order of operations
  ClockId newClock() { return nextClock++; }
  // The operations that the host knows to be finished. All threads of the process share one clock, because the
  // emulation does not see how they synchronize, and must not report threads as unordered that are ordered.
  VectorClock hostClock();
  void hostLearns(const VectorClock &clock);
  // Reports pinned memory that the host has changed while a copy from it was under way.
  void checkUploads();

  // ---- timing
  // Delays an operation. The seed and the operation's position (`salt`) decide about the delay: none, a short one, or
  // until the host waits for something.
  void hesitate(uint64_t salt);
  // While an object of this class exists, the host waits, and no operation is held back until it waits.
  class HostWaits {
  public:
    HostWaits();
    ~HostWaits();
  };

  // ---- handles: every object that the driver returns is registered here until it is destroyed
  void addHandle(const void *handle, const char *kind);
  bool removeHandle(const void *handle, const char *kind);
  bool isHandle(const void *handle, const char *kind) const;

  // ---- device memory
  bool takeMemory(int device, uint64_t bytes); // false: above the limit
  void returnMemory(int device, uint64_t bytes);
  uint64_t freeMemory(int device) const;

  std::atomic<bool> initialized{false};
  void reportLeaks(const char *when);

private:
  Machine();
  ~Machine();
  mutable std::mutex mutex;
  std::vector<std::string> found;
  std::atomic<int> sticky{0};
  std::string stickyText;
  std::atomic<ClockId> nextClock{1};
  VectorClock host;
  std::set<std::pair<const void *, std::string>> handles;
  std::vector<uint64_t> used;
  std::mutex waitMutex;
  std::condition_variable waitChanged;
  int hostWaits = 0;
};

// splitmix64: a number that looks random, computed from `x`.
uint64_t scramble(uint64_t x);

} // namespace cleave::emulated
