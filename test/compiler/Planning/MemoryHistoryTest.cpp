// What is known of the shares of a place after other shares were written there.
#include "compiler/Planning/Verify/Order/MemoryHistory.h"

#include <gtest/gtest.h>

namespace cleave::plan {
namespace {

constexpr AxisMask kDp = 1, kFsdp = 2;

ShareRange share(unsigned group, uint64_t begin, uint64_t end, AxisMask varies = 0) {
  return {group, /*stride=*/256, begin, end, varies};
}

// Writes the share of the first of two ranks, [begin, end), and of the second, 256 bytes further.
void write(MemoryHistory &memory, const ShareRange &share) {
  memory.recordShareWrite(share.begin, share.end + share.stride, Moment(), share);
}

AxisMask variesOf(MemoryHistory &memory, const ShareRange &needed) {
  AxisMask varies = 0;
  auto [first, last] = memory.range(needed.begin, needed.end + needed.stride);
  for (auto cell = first; cell != last; ++cell)
    varies |= variesOf(*cell, needed);
  return varies;
}

TEST(MemoryHistory, AShareReplacesThePartOfAnotherThatItOverlaps) {
  MemoryHistory memory(1024);
  write(memory, share(1, 0, 256, kDp | kFsdp));
  write(memory, share(1, 64, 320, kFsdp));
  EXPECT_EQ(variesOf(memory, share(1, 64, 320)), kFsdp);
  EXPECT_EQ(variesOf(memory, share(1, 64, 128)), kFsdp);
  EXPECT_EQ(variesOf(memory, share(1, 0, 64)), kDp | kFsdp);  // it is left
  EXPECT_EQ(variesOf(memory, share(1, 0, 256)), kDp | kFsdp); // it is left in part
}

TEST(MemoryHistory, AShareSplitsAnotherThatSurroundsIt) {
  MemoryHistory memory(1024);
  write(memory, share(1, 0, 192, kDp));
  write(memory, share(1, 64, 128, kFsdp));
  EXPECT_EQ(variesOf(memory, share(1, 0, 64)), kDp);
  EXPECT_EQ(variesOf(memory, share(1, 64, 128)), kFsdp);
  EXPECT_EQ(variesOf(memory, share(1, 128, 192)), kDp);
}

TEST(MemoryHistory, AShareOfAnotherGroupMayLieAnywhere) {
  MemoryHistory memory(1024);
  write(memory, share(1, 0, 256, kDp));
  write(memory, share(2, 0, 256, kFsdp));
  EXPECT_EQ(variesOf(memory, share(1, 0, 256)), kDp | kFsdp);
  EXPECT_EQ(variesOf(memory, share(2, 0, 256)), kFsdp);
}

} // namespace
} // namespace cleave::plan
