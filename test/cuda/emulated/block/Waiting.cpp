// How threads of a block wait for each other: meetings of lanes, warp groups, barriers.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/driver/Codes.h"
#include <cstring>

namespace cleave::emulated {

uint32_t Block::meet(const char *kind, uint32_t mask, void *argument, WarpCallback callback) {
  Thread &me = *running;
  uint32_t bit = 1u << me.lane, first = me.warp * 32;
  if (count - first < 32)
    mask &= (1u << (count - first)) - 1;
  if (!(mask & bit))
    fail(code::LaunchFailed, std::string("is not in its own member mask at ") + kind);
  std::vector<Meeting> &open = meetings[me.warp];
  size_t k = 0;
  while (k < open.size() && !(open[k].mask & mask))
    k++;
  if (k == open.size())
    open.push_back({kind, mask, 0});
  if (open[k].mask != mask)
    fail(code::LaunchFailed, std::string("is at ") + kind + " with another member mask than the lanes that wait there");
  if (strcmp(open[k].kind, kind) != 0)
    fail(code::LaunchFailed, std::string("is at ") + kind + " while lanes of its warp wait at " + open[k].kind);
  me.argument = argument;
  open[k].arrived |= bit;
  if (open[k].arrived != mask) {
    wait(kind);
    return mask;
  }
  open.erase(open.begin() + long(k));
  Thread *lanes = &threads[first];
  callback(lanes, mask);
  for (uint32_t i = 0; i < 32; i++)
    if ((mask >> i & 1) && i != me.lane)
      makeReady(lanes[i]);
  return mask;
}

void Block::meetWarpGroup(const char *kind, void *argument, void (*callback)(Thread *)) {
  Thread &me = *running;
  uint32_t group = me.warp / 4;
  if (group * 128 + 128 > count)
    fail(code::LaunchFailed, std::string("is in no whole warp group at ") + kind);
  me.argument = argument;
  if (++groupArrived[group] < 128)
    return wait(kind);
  groupArrived[group] = 0;
  Thread *members = &threads[group * 128];
  for (int i = 0; i < 128; i++)
    if (&members[i] != &me && (members[i].state != Thread::State::Waiting || strcmp(members[i].waitingAt, kind) != 0))
      fail(code::LaunchFailed, std::string("is at ") + kind + " while its warp group waits at " + members[i].waitingAt);
  callback(members);
  for (int i = 0; i < 128; i++)
    if (&members[i] != &me)
      makeReady(members[i]);
}

Block::Barrier &Block::joinBarrier(uint32_t id, uint32_t expected, bool predicate) {
  if (id >= barriers.size())
    fail(code::LaunchFailed, "is at barrier " + std::to_string(id) + ": there are 16");
  bool whole = !expected;
  if (whole)
    expected = count;
  if (expected % 32 && expected != count)
    fail(code::LaunchFailed, "is at a barrier of " + std::to_string(expected) + " threads: no multiple of a warp");
  Barrier &b = barriers[id];
  if (b.arrived && b.expected != expected)
    fail(code::LaunchFailed, "is at barrier " + std::to_string(id) + " of " + std::to_string(expected) +
                                 " threads while others wait there for " + std::to_string(b.expected));
  b.expected = expected;
  b.whole = whole;
  b.arrived++;
  b.warps |= 1u << running->warp;
  b.popc += predicate;
  return b;
}

void Block::completeBarrier(Barrier &b) {
  warpClocks.synchronize(b.warps);
  for (uint32_t w = 0; w < kMaxWarps; w++)
    if (b.warps >> w & 1)
      warpClocks.learn(w, b.published);
  for (uint32_t index : b.waiting) {
    threads[index].result = b.popc | b.arrived << 16;
    makeReady(threads[index]);
  }
  b.clear();
}

uint32_t Block::barrier(uint32_t id, uint32_t expected, Reduction reduction, bool predicate) {
  Barrier &b = joinBarrier(id, expected, predicate);
  uint32_t popc = b.popc, total = 0;
  if (!isComplete(b)) {
    b.waiting.push_back(running->index);
    Thread &me = *running;
    wait("a barrier");
    popc = me.result & 0xffff;
    total = me.result >> 16;
  } else {
    total = b.arrived;
    completeBarrier(b);
  }
  switch (reduction) {
  case Reduction::And:
    return popc == total;
  case Reduction::Or:
    return popc != 0;
  default:
    return popc;
  }
}

void Block::barrierArrive(uint32_t id, uint32_t expected) {
  if (!expected)
    fail(code::LaunchFailed, "arrives at a barrier without a thread count");
  uint32_t warp = running->warp;
  Barrier &b = joinBarrier(id, expected, false);
  b.warps &= ~(1u << warp); // a warp that only arrives learns nothing
  warpClocks.publish(warp, b.published);
  if (isComplete(b))
    completeBarrier(b);
}

// A barrier of the whole block waits only for threads that have not exited. So the exit of a thread may complete it.
void Block::threadEnds() {
  running->state = Thread::State::Done;
  done++;
  for (Barrier &b : barriers)
    if (b.arrived && b.whole && isComplete(b))
      completeBarrier(b);
}

} // namespace cleave::emulated
