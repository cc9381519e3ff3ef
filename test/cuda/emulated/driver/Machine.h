// The state of the emulated machine: one object, made when the library is used first.
//
// An error of an operation is *sticky*, as with a real device: the context is lost, and every later call that needs one
// returns the same error. Findings that a real device would let pass (races, reads of memory that nothing wrote) are
// sticky errors, too, so that no test passes beside one; their texts go to stderr.
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
  // Keeps and prints a finding. `code` other than 0 becomes the sticky error if there is none yet.
  void report(int code, const std::string &message);
  int stickyError() const { return sticky.load(); }
  std::vector<std::string> findings() const;
  void clearFindings(); // for tests that plant several bugs in one process
  // The text that cuGetErrorString gives for a sticky error: the finding's.
  const char *textOf(int code);

  std::atomic<uint64_t> plainCopies{0}; // between the device and host memory that is not pinned

  // ---- the order of operations
  ClockId newClock() { return nextClock++; }
  // What the host knows to be finished. One clock for all threads of the process: their own synchronization is not
  // seen, and must not be mistaken for none.
  VectorClock hostClock();
  void hostLearns(const VectorClock &clock);
  // Reports what the host has done to pinned memory that is still in use.
  void checkUploads();

  // ---- timing
  // A delay before an operation, by the seed and the operation's place: none, some, or until the host waits for
  // something.
  void hesitate(uint64_t salt);
  // While one of these lives, the host waits, and no operation holds back for it.
  class HostWaits {
  public:
    HostWaits();
    ~HostWaits();
  };

  // ---- handles: every object that the driver hands out is known here until it is destroyed
  void addHandle(const void *handle, const char *kind);
  bool removeHandle(const void *handle, const char *kind);
  bool isHandle(const void *handle, const char *kind) const;

  // ---- device memory
  bool takeMemory(int device, uint64_t bytes); // false: beyond the limit
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

// splitmix64: a number that looks random, from a place.
uint64_t scramble(uint64_t x);

} // namespace cleave::emulated
