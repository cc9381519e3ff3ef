// Shuffles, votes, matches, reductions over a warp; barriers of warps and blocks.
#include "test/cuda/emulated/block/Block.h"
#include "test/cuda/emulated/block/Intrinsics.h"

namespace cleave::emulated {
namespace {

// The value that a lane reads from a lane that takes no part: a NaN that is easy to recognize.
constexpr uint32_t kPoison = 0x7fc0dead;

template <class F> void eachLane(uint32_t mask, F f) {
  for (uint32_t i = 0; i < 32; i++)
    if (mask >> i & 1)
      f(i);
}

struct Shuffle {
  ShuffleMode mode;
  uint32_t value, source, clamp, result;
  bool inRange;
};

// Returns the lane that `lane` reads from. Sets `inRange` if it is in range (PTX ISA, shfl.sync).
uint32_t sourceLane(const Shuffle &s, uint32_t lane, bool &inRange) {
  uint32_t segment = s.clamp >> 8 & 31, clamp = s.clamp & 31, b = s.source & 31;
  uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  int from = 0;
  switch (s.mode) {
  case ShuffleMode::Up:
    from = int(lane) - int(b);
    inRange = from >= int(last);
    break;
  case ShuffleMode::Down:
    from = int(lane + b);
    inRange = from <= int(last);
    break;
  case ShuffleMode::Xor:
    from = int(lane ^ b);
    inRange = from <= int(last);
    break;
  case ShuffleMode::Index:
    from = int(first | (b & ~segment));
    inRange = from <= int(last);
    break;
  }
  return inRange ? uint32_t(from) : lane;
}

const char *nameOf(ShuffleMode mode) {
  switch (mode) {
  case ShuffleMode::Up:
    return "shfl.sync.up";
  case ShuffleMode::Down:
    return "shfl.sync.down";
  case ShuffleMode::Xor:
    return "shfl.sync.bfly";
  default:
    return "shfl.sync.idx";
  }
}

uint32_t shuffle(uint32_t mode, uint32_t value, uint32_t source, uint32_t clamp, uint32_t mask, uint32_t *inRange) {
  Shuffle mine{ShuffleMode(mode), value, source, clamp, 0, false};
  currentBlock().meet(nameOf(mine.mode), mask, &mine, [](Thread *lanes, uint32_t mask) {
    eachLane(mask, [&](uint32_t i) {
      auto &s = *static_cast<Shuffle *>(lanes[i].argument);
      uint32_t from = sourceLane(s, i, s.inRange);
      s.result = (mask >> from & 1) ? static_cast<Shuffle *>(lanes[from].argument)->value : kPoison;
    });
  });
  *inRange = mine.inRange;
  return mine.result;
}

struct Ballot {
  uint32_t predicate, ballot;
};

uint32_t vote(uint32_t mode, uint32_t predicate, uint32_t mask) {
  Ballot mine{predicate & 1, 0};
  mask = currentBlock().meet("vote.sync", mask, &mine, [](Thread *lanes, uint32_t mask) {
    uint32_t ballot = 0;
    eachLane(mask, [&](uint32_t i) { ballot |= static_cast<Ballot *>(lanes[i].argument)->predicate << i; });
    eachLane(mask, [&](uint32_t i) { static_cast<Ballot *>(lanes[i].argument)->ballot = ballot; });
  });
  switch (VoteMode(mode)) {
  case VoteMode::All:
    return mine.ballot == mask;
  case VoteMode::Any:
    return mine.ballot != 0;
  case VoteMode::Uniform:
    return mine.ballot == mask || mine.ballot == 0;
  default:
    return mine.ballot;
  }
}

struct Match {
  uint64_t value;
  uint32_t same;
};

uint32_t match(uint32_t all, uint64_t value, uint32_t mask, uint32_t *isAll) {
  Match mine{value, 0};
  mask = currentBlock().meet("match.sync", mask, &mine, [](Thread *lanes, uint32_t mask) {
    auto at = [&](uint32_t i) -> Match & { return *static_cast<Match *>(lanes[i].argument); };
    eachLane(mask, [&](uint32_t i) {
      eachLane(mask, [&](uint32_t k) { at(i).same |= uint32_t(at(i).value == at(k).value) << k; });
    });
  });
  *isAll = mine.same == mask;
  return all && !*isAll ? 0 : mine.same;
}

struct Reduce {
  ReduceMode mode;
  uint32_t value, result;
};

uint32_t combine(ReduceMode mode, uint32_t a, uint32_t b) {
  switch (mode) {
  case ReduceMode::Add:
    return a + b;
  case ReduceMode::Min:
    return int32_t(a) < int32_t(b) ? a : b;
  case ReduceMode::Max:
    return int32_t(a) > int32_t(b) ? a : b;
  case ReduceMode::UnsignedMin:
    return a < b ? a : b;
  case ReduceMode::UnsignedMax:
    return a > b ? a : b;
  case ReduceMode::And:
    return a & b;
  case ReduceMode::Or:
    return a | b;
  default:
    return a ^ b;
  }
}

uint32_t reduce(uint32_t mode, uint32_t value, uint32_t mask) {
  Reduce mine{ReduceMode(mode), value, 0};
  currentBlock().meet("redux.sync", mask, &mine, [](Thread *lanes, uint32_t mask) {
    bool first = true;
    uint32_t total = 0;
    eachLane(mask, [&](uint32_t i) {
      auto &r = *static_cast<Reduce *>(lanes[i].argument);
      total = first ? r.value : combine(r.mode, total, r.value);
      first = false;
    });
    eachLane(mask, [&](uint32_t i) { static_cast<Reduce *>(lanes[i].argument)->result = total; });
  });
  return mine.result;
}

// The hardware chooses which lanes run together. The emulator returns the largest legal answer: all lanes that have not
// exited.
uint32_t activeMask() {
  Block &b = currentBlock();
  Thread *lanes = &b.self() - b.self().lane;
  uint32_t mask = 0, left = b.threadCount() - b.self().warp * 32;
  for (uint32_t i = 0; i < 32 && i < left; i++)
    mask |= uint32_t(lanes[i].state != Thread::State::Done) << i;
  return mask;
}

void warpBarrier(uint32_t mask) {
  currentBlock().meet("bar.warp.sync", mask, nullptr,
                      [](Thread *lanes, uint32_t mask) { eachLane(mask, [&](uint32_t i) { lanes[i].warpEpoch++; }); });
}

uint32_t blockBarrier(uint32_t id, uint32_t threads, uint32_t reduction, uint32_t predicate) {
  return currentBlock().barrier(id, threads, Block::Reduction(reduction), predicate & 1);
}

void blockArrive(uint32_t id, uint32_t threads) { currentBlock().barrierArrive(id, threads); }

} // namespace

void addWarpIntrinsics(std::vector<Intrinsic> &list) {
  list.push_back({"emu_shuffle", reinterpret_cast<void *>(&shuffle)});
  list.push_back({"emu_vote", reinterpret_cast<void *>(&vote)});
  list.push_back({"emu_match", reinterpret_cast<void *>(&match)});
  list.push_back({"emu_reduce", reinterpret_cast<void *>(&reduce)});
  list.push_back({"emu_active_mask", reinterpret_cast<void *>(&activeMask)});
  list.push_back({"emu_warp_barrier", reinterpret_cast<void *>(&warpBarrier)});
  list.push_back({"emu_barrier", reinterpret_cast<void *>(&blockBarrier)});
  list.push_back({"emu_barrier_arrive", reinterpret_cast<void *>(&blockArrive)});
}

} // namespace cleave::emulated
