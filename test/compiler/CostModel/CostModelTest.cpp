#include "compiler/CostModel/CostModel.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(CostModel, RingBytesAreExact) {
  for (uint64_t ranks : {2, 4, 1024}) {
    uint64_t bytes = 4096 * ranks;
    EXPECT_EQ(ringSentBytes(RingCollective::AllReduce, bytes, ranks), 2 * (ranks - 1) * bytes / ranks);
    EXPECT_EQ(ringSentBytes(RingCollective::AllGather, bytes, ranks), (ranks - 1) * bytes / ranks);
  }
  EXPECT_EQ(ringSentBytes(RingCollective::AllReduce, 4096, 1), 0u);
}

TEST(CostModel, TimeIsLatencyAndBandwidth) {
  Machine machine;
  machine.linkSeconds = 1;
  machine.linkBytesPerSecond = 8;
  EXPECT_DOUBLE_EQ(ringSeconds(RingCollective::AllReduce, 64, 4, machine), 6 + 12);
  machine.launchSeconds = 0;
  machine.flopsPerSecond = 10;
  machine.bytesPerSecond = 100;
  EXPECT_DOUBLE_EQ(kernelSeconds(100, 10, machine), 10);
  EXPECT_DOUBLE_EQ(kernelSeconds(1, 1000, machine), 10);
}

} // namespace
} // namespace cleave
