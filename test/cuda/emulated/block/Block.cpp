#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace cleave::emulated {
namespace {

constexpr size_t kStack = 64 << 10;
constexpr uint64_t kNormalPriority = uint64_t(1) << 62;
constexpr uint64_t kMaxSpins = 2000000;
// It is read at every access. This model puts it into the first block of thread-local storage, where this is fast.
thread_local __attribute__((tls_model("initial-exec"))) Block *active = nullptr;

} // namespace

Block &currentBlock() { return *active; }

bool runLaunch(const Launch &launch, Fault &fault) {
  static thread_local std::unique_ptr<Block> block; // the next launch uses its arena and stacks again
  if (!block)
    block = std::make_unique<Block>();
  return block->run(launch, fault);
}

Block::Block() {
  stacks = static_cast<char *>(
      mmap(nullptr, kMaxThreads * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (stacks == MAP_FAILED)
    abort();
}

Block::~Block() { munmap(stacks, kMaxThreads * kStack); }

uint64_t Block::random() {
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  randomState ^= randomState << 17;
  return randomState;
}

bool Block::run(const Launch &launch, Fault &result) {
  active = this;
  current = &launch;
  count = uint32_t(launch.block.count());
  threads.resize(count);
  randomState = launch.seed * 0x9E3779B97F4A7C15ull + 1;
  failed = false;
  uint64_t blocks = launch.grid.count();
  for (blockIndex = 0; blockIndex < blocks && !failed; blockIndex++) {
    blockId = {uint32_t(blockIndex % launch.grid.x), uint32_t(blockIndex / launch.grid.x % launch.grid.y),
               uint32_t(blockIndex / launch.grid.x / launch.grid.y)};
    runOne();
  }
  active = nullptr;
  if (failed)
    result = fault;
  return !failed;
}

void Block::startThreads() {
  for (uint32_t i = 0; i < count; i++) {
    Thread &t = threads[i];
    t.index = i;
    t.warp = i / 32;
    t.lane = i % 32;
    t.id = {i % current->block.x, i / current->block.x % current->block.y, i / current->block.x / current->block.y};
    t.warpEpoch = 0;
    t.openCopies.clear();
    t.copyGroups.clear();
    // If stacks started at the same offset of their pages, all of them would use the same lines of the cache.
    prepareFiber(t.fiber, stacks + (i + 1) * kStack - (i * 320) % 16384, threadMain);
    makeReady(t);
  }
}

void Block::runOne() {
  done = 0;
  spins = 0;
  for (auto &m : meetings)
    m.clear();
  for (auto &r : ready)
    r.clear();
  readyWarps = 0;
  for (Barrier &b : barriers)
    b.clear();
  groupArrived.fill(0);
  mbarrierClocks.clear();
  sharedMemory.startBlock(current->sharedStatic + current->sharedDynamic);
  warpClocks.startBlock();
  for (uint64_t &p : priority)
    p = kNormalPriority + (random() >> 8);
  lowest = kNormalPriority;
  startThreads();
  while (done < count && !failed) {
    Thread *next = pick();
    if (!next) {
      failed = true;
      fault = {code::LaunchFailed, current->name + ": " + deadlock()};
      return;
    }
    running = next;
    switchFiber(scheduler, next->fiber);
  }
}

Thread *Block::pick() {
  if (!readyWarps)
    return nullptr;
  uint64_t chance = random();
  if (chance % 512 == 0)
    priority[lastWarp] = kNormalPriority + (random() >> 8);
  auto best = uint32_t(__builtin_ctz(readyWarps));
  for (uint32_t left = readyWarps & (readyWarps - 1); left; left &= left - 1)
    if (auto w = uint32_t(__builtin_ctz(left)); priority[w] > priority[best])
      best = w;
  lastWarp = best;
  std::vector<uint32_t> &lanes = ready[best];
  size_t k = (chance >> 32) * lanes.size() >> 32;
  uint32_t index = lanes[k];
  lanes[k] = lanes.back();
  lanes.pop_back();
  if (lanes.empty())
    readyWarps &= ~(1u << best);
  return &threads[index];
}

void Block::makeReady(Thread &thread) {
  thread.state = Thread::State::Ready;
  ready[thread.warp].push_back(thread.index);
  readyWarps |= 1u << thread.warp;
}

void Block::threadMain() {
  Block &block = currentBlock();
  block.current->entry(block.current->arguments);
  // Copies that no thread has waited for may arrive when the thread ends, or never. No thread may rely on either.
  Thread &me = block.self();
  block.threadEnds();
  switchFiber(me.fiber, block.scheduler);
  abort(); // the scheduler never picks a thread that is done
}

void Block::wait(const char *where) {
  Thread &me = *running;
  me.state = Thread::State::Waiting;
  me.waitingAt = where;
  leave(me);
}

void Block::leave(Thread &me) {
  Thread *next = pick();
  if (next == &me)
    return;
  if (next)
    running = next;
  switchFiber(me.fiber, next ? next->fiber : scheduler);
}

void Block::spin(const char *where) {
  if (++spins > kMaxSpins)
    fail(code::LaunchTimeout, std::string("spins at ") + where + " for ever");
  priority[running->warp] =
      lowest--; // below all others: a thread that spins must not starve the thread that it waits for
  Thread &me = *running;
  me.waitingAt = where;
  makeReady(me);
  leave(me);
}

void Block::abandon(Fault f) {
  if (!failed) {
    failed = true;
    fault = std::move(f);
  }
  Thread &me = *running;
  switchFiber(me.fiber, scheduler);
  abort(); // the scheduler stops at the first fault
}

void Block::fail(int faultCode, const std::string &what) {
  abandon({faultCode, current->name + ": " + nameOf(*running) + " " + what});
}

std::string Block::nameOf(const Thread &t) const {
  auto place = [](const Extent &e) {
    return "(" + std::to_string(e.x) + "," + std::to_string(e.y) + "," + std::to_string(e.z) + ")";
  };
  return "block " + place(blockId) + " thread " + place(t.id);
}

std::string Block::deadlock() const {
  std::string text = "deadlock:";
  int shown = 0;
  for (const Thread &t : threads)
    if (t.state == Thread::State::Waiting && shown++ < 4)
      text += " [" + nameOf(t) + " waits at " + t.waitingAt + "]";
  if (done)
    text += " (" + std::to_string(done) + " threads have exited)";
  return text;
}

bool Block::isOnStack(uint64_t address, uint32_t bytes) const {
  uint64_t low = reinterpret_cast<uint64_t>(stacks) + running->index * kStack;
  return address >= low && address + bytes <= low + kStack;
}

uint64_t Block::access(uint64_t address, uint32_t bytes, Access kind, uint32_t line) {
  auto at = [&] { return " (PTX line " + std::to_string(line) + ")"; };
  if (sharedMemory.contains(address)) {
    std::string message;
    Accessor who{running->index, running->warp, running->warpEpoch};
    if (!sharedMemory.access(address, bytes, kind != Access::Read, kind == Access::Atomic, who, warpClocks,
                             current->checkUninitializedShared, message))
      fail(message.find("no barrier") == std::string::npos ? code::IllegalAddress : code::LaunchFailed, message + at());
    return address;
  }
  if (isOnStack(address, bytes) || (address >= current->argumentsBegin && address + bytes <= current->argumentsEnd))
    return address;
  Fault found;
  uint64_t host = current->memory->access(address, bytes, kind, blockIndex, found);
  if (!host)
    fail(found.code, found.message + at());
  return host;
}

} // namespace cleave::emulated
