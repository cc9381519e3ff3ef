// Says which accesses of a block are ordered, by vector clocks over its (at most 32) warps.
//
// Each warp has a clock, and knows for every other warp up to which clock it has been synchronized with it. A barrier
// joins the knowledge of its participants, and advances their clocks. An access is stamped with its warp's clock. A
// later access is ordered after it if the later warp knows a higher clock of the earlier warp:
//
//     warp 0 writes s[0] at clock 7          stamp (0, 7)
//     barrier of warps 0 and 1               both know clock 8 of warp 0
//     warp 1 reads s[0]                      knows 8 > 7: ordered
//
// Barriers of some of the threads (named barriers, mbarriers) are told apart from barriers of the whole block. Inside
// of a warp, only the warp's barriers (bar.warp.sync) order threads. The threads count these themselves. Clocks grow
// from block to block, so that stamps of an earlier block are ordered before all accesses of the next block.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

namespace cleave::emulated {

constexpr uint32_t kMaxWarps = 32;
using WarpClock = std::array<uint32_t, kMaxWarps>;

class WarpClocks {
public:
  void startBlock() {
    uint32_t next = 1;
    for (uint32_t w = 0; w < kMaxWarps; w++)
      next = std::max(next, known[w][w] + 1);
    for (WarpClock &clock : known)
      clock.fill(next);
    base = next;
  }
  uint32_t now(uint32_t warp) const { return known[warp][warp]; }
  bool knows(uint32_t warp, uint32_t other, uint32_t clock) const { return known[warp][other] > clock; }
  // True if the stamp is from the block that runs now.
  bool isCurrent(uint32_t clock) const { return clock >= base; }

  // A barrier over the warps of `mask`.
  void synchronize(uint32_t mask) {
    WarpClock joined{};
    for (uint32_t w = 0; w < kMaxWarps; w++)
      if (mask >> w & 1) {
        known[w][w]++;
        join(joined, known[w]);
      }
    for (uint32_t w = 0; w < kMaxWarps; w++)
      if (mask >> w & 1)
        join(known[w], joined);
  }
  // publish() and learn() are the two halves of a synchronization through an object (an mbarrier, or the arrival at a
  // barrier). publish() adds to `object` what the warp has done until now. A warp that waits for the object learns it.
  void publish(uint32_t warp, WarpClock &object) {
    known[warp][warp]++;
    join(object, known[warp]);
  }
  void learn(uint32_t warp, const WarpClock &object) { join(known[warp], object); }

  static void join(WarpClock &into, const WarpClock &from) {
    for (uint32_t w = 0; w < kMaxWarps; w++)
      into[w] = std::max(into[w], from[w]);
  }

private:
  std::array<WarpClock, kMaxWarps> known{};
  uint32_t base = 0;
};

} // namespace cleave::emulated
