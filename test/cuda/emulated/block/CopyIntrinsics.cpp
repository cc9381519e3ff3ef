// Asynchronous copies (cp.async), and mbarriers.
//
// cp.async: the bytes are read when the copy is issued, and written to the target when the thread waits for its group.
// Between these times, the target has NaN patterns. The copy counts as a write of its thread at both times. So it is a
// race if other threads still read the target when the copy is issued, and also if no barrier is between the wait and a
// reader.
//
// mbarrier: 64 bits of shared memory, which have the phase, the expected arrivals and the pending arrivals. PTX does
// not define the order of the bits, so this one is our own. A try_wait that fails lets all other threads run first.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/block/Intrinsics.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <cstring>

namespace cleave::emulated {
namespace {

// The target of an asynchronous copy is a 32-bit shared address or a generic address.
void copyAsync(uint64_t target, uint64_t source, uint32_t bytes, uint32_t sourceBytes, uint32_t line) {
  Block &b = currentBlock();
  if (bytes > 16 || sourceBytes > bytes)
    b.fail(code::LaunchFailed,
           "cp.async of " + std::to_string(sourceBytes) + " of " + std::to_string(bytes) + " bytes");
  if (target % bytes || (sourceBytes && source % bytes))
    b.fail(code::MisalignedAddress, "cp.async: an address is no multiple of " + std::to_string(bytes));
  AsyncCopy copy;
  copy.target = target;
  copy.bytes = bytes;
  if (sourceBytes) {
    uint64_t from = b.access(source, sourceBytes, Access::Read, line);
    memcpy(copy.data.data(), reinterpret_cast<const void *>(from), sourceBytes);
  }
  if (!b.shared().contains(target))
    b.fail(code::IllegalAddress, "cp.async: the target is not in shared memory");
  b.access(target, bytes, Access::Write, line);
  memset(reinterpret_cast<void *>(target), 0xff, bytes);
  b.self().openCopies.push_back(copy);
}

void copyCommit() {
  Thread &t = currentBlock().self();
  t.copyGroups.push_back(std::move(t.openCopies));
  t.openCopies.clear();
}

// Waits until at most the `pending` newest groups are left.
void copyWait(uint32_t pending) {
  Block &b = currentBlock();
  Thread &t = b.self();
  while (t.copyGroups.size() > pending) {
    for (const AsyncCopy &copy : t.copyGroups.front()) {
      b.access(copy.target, copy.bytes, Access::Write, 0);
      memcpy(reinterpret_cast<void *>(copy.target), copy.data.data(), copy.bytes);
    }
    t.copyGroups.erase(t.copyGroups.begin());
  }
}

void copyWaitAll() {
  copyCommit();
  copyWait(0);
}

struct BarrierObject {
  uint16_t phase;
  uint16_t expected;
  int16_t pending;
  uint16_t check; // marks an initialized object
};
static_assert(sizeof(BarrierObject) == 8, "an mbarrier has 64 bits");
constexpr uint16_t kCheck = 0x6d62;

BarrierObject &object(uint64_t address, bool initialized = true) {
  Block &b = currentBlock();
  if (!b.shared().contains(address) || address % 8)
    b.fail(code::IllegalAddress, "uses an mbarrier outside of shared memory, or not aligned to 8 bytes");
  auto &o = *reinterpret_cast<BarrierObject *>(address);
  if (initialized && o.check != kCheck)
    b.fail(code::LaunchFailed, "uses an mbarrier that was not initialized");
  return o;
}

void barrierInit(uint64_t address, uint32_t arrivals) {
  Block &b = currentBlock();
  b.access(address, 8, Access::Write, 0);
  object(address, false) = {0, uint16_t(arrivals), int16_t(arrivals), kCheck};
  b.mbarrierClocks[address] = WarpClock{};
}

void barrierInvalidate(uint64_t address) { object(address).check = 0; }

// Returns the phase before the arrival. test_wait takes this state as its operand.
uint64_t barrierArriveObject(uint64_t address, uint32_t arrivals) {
  Block &b = currentBlock();
  BarrierObject &o = object(address);
  uint64_t phase = o.phase;
  if (o.pending < int(arrivals))
    b.fail(code::LaunchFailed, "arrives at an mbarrier more often than its count in one phase");
  b.clocks().publish(b.self().warp, b.mbarrierClocks[address]);
  o.pending = int16_t(o.pending - int(arrivals));
  if (!o.pending) {
    o.phase ^= 1;
    o.pending = int16_t(o.expected);
  }
  return phase;
}

// True if the phase with this parity has completed. `poll`: lets other threads run before it returns false.
uint32_t barrierTest(uint64_t address, uint32_t parity, uint32_t poll) {
  Block &b = currentBlock();
  for (int i = 0; i < 3 && object(address).phase == (parity & 1); i++)
    if (poll || i == 0)
      b.spin("an mbarrier");
  if (object(address).phase == (parity & 1))
    return 0;
  b.clocks().learn(b.self().warp, b.mbarrierClocks[address]);
  return 1;
}

// cp.async.mbarrier.arrive: arrives when the thread's earlier copies are complete. They may be completed now.
void barrierArriveCopies(uint64_t address, uint32_t noIncrement) {
  copyWaitAll();
  BarrierObject &o = object(address);
  if (!noIncrement)
    o.pending++;
  barrierArriveObject(address, 1);
}

} // namespace

void addCopyIntrinsics(std::vector<Intrinsic> &list) {
  list.push_back({"emu_copy_async", reinterpret_cast<void *>(&copyAsync)});
  list.push_back({"emu_copy_commit", reinterpret_cast<void *>(&copyCommit)});
  list.push_back({"emu_copy_wait", reinterpret_cast<void *>(&copyWait)});
  list.push_back({"emu_copy_wait_all", reinterpret_cast<void *>(&copyWaitAll)});
  list.push_back({"emu_mbarrier_init", reinterpret_cast<void *>(&barrierInit)});
  list.push_back({"emu_mbarrier_invalidate", reinterpret_cast<void *>(&barrierInvalidate)});
  list.push_back({"emu_mbarrier_arrive", reinterpret_cast<void *>(&barrierArriveObject)});
  list.push_back({"emu_mbarrier_test", reinterpret_cast<void *>(&barrierTest)});
  list.push_back({"emu_mbarrier_arrive_copies", reinterpret_cast<void *>(&barrierArriveCopies)});
}

} // namespace cleave::emulated
