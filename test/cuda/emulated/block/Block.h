// One block of threads while it runs, and how its threads wait for each other.
//
// The scheduler gives every warp a random priority, and always runs the ready warp of the highest priority. Priorities
// change now and then. So a warp runs far ahead of others, or far behind them. A uniformly random order hardly ever
// does this. A missing barrier then shows as a wrong value with few seeds, and as a race in the shadow memory with all
// seeds.
//
// A thread waits in one of three places: at a *meeting* of lanes of its warp (shuffles, votes, matrix operations), at a
// *barrier* of the block, or *spinning* on an mbarrier. If no thread can run, the block is deadlocked, and the report
// says which thread waits where.
#pragma once
#include "test/cuda/emulated/block/Fiber.h"
#include "test/cuda/emulated/block/Launch.h"
#include "test/cuda/emulated/block/SharedMemory.h"
#include "test/cuda/emulated/block/WarpClocks.h"
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cleave::emulated {

class Block;

// One copy of cp.async. Its bytes are read when it is issued, and written to the target when a thread waits for it.
struct AsyncCopy {
  uint64_t target = 0;
  uint32_t bytes = 0;
  std::array<uint8_t, 16> data{};
};

struct Thread {
  enum class State { Ready, Waiting, Done };
  Fiber fiber;
  State state = State::Done;
  uint32_t index = 0, warp = 0, lane = 0;
  Extent id;
  uint32_t warpEpoch = 0;
  const char *waitingAt = "";
  void *argument = nullptr; // of the meeting that the thread waits at
  uint32_t result = 0;      // of the barrier with a reduction that it waits at
  std::vector<AsyncCopy> openCopies;
  std::vector<std::vector<AsyncCopy>> copyGroups;
};

// Called after all lanes of `mask` have met. `lanes[i]` is lane i of the warp. Only the lanes of the mask take part.
using WarpCallback = void (*)(Thread *lanes, uint32_t mask);

class Block {
public:
  Block();
  ~Block();

  // Runs all blocks of the launch.
  bool run(const Launch &launch, Fault &fault);

  // ---- for operations of the running thread, which is `self()`
  Thread &self() { return *running; }
  const Launch &launch() const { return *current; }
  const Extent &position() const { return blockId; }
  uint64_t linearIndex() const { return blockIndex; }
  SharedMemory &shared() { return sharedMemory; }
  WarpClocks &clocks() { return warpClocks; }
  uint32_t threadCount() const { return count; }

  // Waits until all lanes of `mask` are at a meeting of this kind with this mask. The last one runs `callback`. Returns
  // the mask without lanes that the block does not have.
  uint32_t meet(const char *kind, uint32_t mask, void *argument, WarpCallback callback);
  // All threads of four warps meet (wgmma).
  void meetWarpGroup(const char *kind, void *argument, void (*callback)(Thread *threads));

  enum class Reduction { None, Popc, And, Or };
  // bar.sync and bar.red. An `expected` of 0 is the whole block. With a reduction, returns it over the predicates.
  uint32_t barrier(uint32_t id, uint32_t expected, Reduction reduction, bool predicate);
  void barrierArrive(uint32_t id, uint32_t expected);

  // Lets all other threads run first. A thread that polls calls this.
  void spin(const char *where);

  // Ends the launch with a fault of the running thread. Does not return.
  [[noreturn]] void fail(int code, const std::string &what);
  // As `fail`, for faults that are not those of the running thread.
  [[noreturn]] void abandon(Fault fault);
  std::string nameOf(const Thread &thread) const;
  // Checks an access to any memory that a running thread may address, and ends the launch if it is not allowed. Returns
  // the host's address of the bytes.
  uint64_t access(uint64_t address, uint32_t bytes, Access kind, uint32_t line);
  bool isOnStack(uint64_t address, uint32_t bytes) const;

  std::map<uint64_t, WarpClock> mbarrierClocks; // by address

private:
  struct Meeting {
    const char *kind;
    uint32_t mask, arrived;
  };
  struct Barrier {
    uint32_t arrived = 0, expected = 0, warps = 0, popc = 0;
    bool whole = false; // all threads that have not exited are expected
    WarpClock published{};
    std::vector<uint32_t> waiting;

    void clear() { // keeps the memory of `waiting`: a block meets at a barrier many times
      if (!arrived && !warps)
        return;
      arrived = expected = warps = popc = 0;
      whole = false;
      published = WarpClock{};
      waiting.clear();
    }
  };

  void runOne();
  void startThreads();
  Thread *pick();
  void makeReady(Thread &thread);
  void wait(const char *where);
  // Continues with the next thread that can run. If there is none, continues with the scheduler, which reports the
  // deadlock.
  void leave(Thread &me);
  bool isComplete(const Barrier &b) const { return b.arrived >= (b.whole ? count - done : b.expected); }
  void completeBarrier(Barrier &b);
  void threadEnds();
  Barrier &joinBarrier(uint32_t id, uint32_t expected, bool predicate);
  std::string deadlock() const;
  uint64_t random();
  static void threadMain();

  const Launch *current = nullptr;
  Extent blockId;
  uint64_t blockIndex = 0;
  uint32_t count = 0, done = 0;
  std::vector<Thread> threads;
  Thread *running = nullptr;
  Fiber scheduler;
  SharedMemory sharedMemory;
  WarpClocks warpClocks;
  char *stacks = nullptr;
  std::array<std::vector<Meeting>, kMaxWarps> meetings;
  std::array<uint32_t, kMaxWarps / 4> groupArrived{};
  std::array<Barrier, 16> barriers;
  std::array<std::vector<uint32_t>, kMaxWarps> ready;
  std::array<uint64_t, kMaxWarps> priority{};
  uint64_t lowest = 0, randomState = 1, spins = 0;
  uint32_t lastWarp = 0, readyWarps = 0; // readyWarps: a bit for each warp with a thread in `ready`
  bool failed = false;
  Fault fault;
};

// The block whose thread this OS thread runs now.
Block &currentBlock();

} // namespace cleave::emulated
