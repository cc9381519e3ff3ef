#include "runtime/session/HostResources.h"
#include "runtime/session/MemoryUsage.h"

#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(HostResources, NotesSayWhatIsTooMuch) {
  HostResources resources{4, 8 * kGiB};
  EXPECT_TRUE(resourceNotes({1, 4, 8 * kGiB}, resources).empty());
  EXPECT_TRUE(resourceNotes({16, 1, 0}, resources).empty()); // a mesh that somebody only tries
  auto one = resourceNotes({1, 6, 0}, resources);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0], "6 compute threads share 4 cores: steps take longer than with --threads 4");
  auto several = resourceNotes({2, 3, 0}, resources);
  ASSERT_EQ(several.size(), 1u);
  EXPECT_EQ(several[0], "2 ranks of 3 compute threads share 4 cores: steps take longer than with --threads 2");
  EXPECT_NE(resourceNotes({8, 2, 0}, {1, 0})[0].find("1 core: steps take longer than with --threads 1"),
            std::string::npos);
  auto large = resourceNotes({1, 1, 8 * kGiB + 1}, resources);
  ASSERT_EQ(large.size(), 1u);
  EXPECT_EQ(large[0].find("the plan takes 8192.0 MiB and this machine has 8192.0 MiB of memory"), 0u) << large[0];
  EXPECT_TRUE(resourceNotes({1, 1, kGiB}, {4, 0}).empty()); // the machine's memory is unknown
  auto bound = resourceNotes({1, 1, 0, 2}, {1, 0, 4});      // a process that a launcher binds to a core
  ASSERT_EQ(bound.size(), 1u);
  EXPECT_EQ(bound[0].find("this process may use 1 of 4 cores, and its rank computes on 2 threads"), 0u) << bound[0];
  EXPECT_TRUE(resourceNotes({1, 1, 0, 2}, {2, 0, 4}).empty());
  EXPECT_TRUE(resourceNotes({1, 1, 0, 8}, {4, 0, 4}).empty()); // compiled for a larger machine
}

TEST(MemoryUsage, SizesHaveTheUnitThatTheyRoundTo) {
  EXPECT_EQ(formatBytes(8 * kGiB + 1), "8192.0 MiB");
  EXPECT_EQ(formatBytes(10 * kGiB), "10.0 GiB");
  EXPECT_EQ(formatBytes(10 * kGiB - 1), "10.0 GiB");
  EXPECT_EQ(formatBytes(10 * kGiB - kGiB / 10240), "10239.9 MiB");
  for (uint64_t below = 0; below < kGiB / 10240; below += 997)
    EXPECT_EQ(formatBytes(10 * kGiB - below).find("10240"), std::string::npos) << below;
}

TEST(HostResources, Here) {
  EXPECT_GE(HostResources::here().cores, 1u);
  EXPECT_GT(HostResources::here().memoryBytes, uint64_t{1} << 26);
  EXPECT_GE(HostResources::here().coresOfAll, HostResources::here().cores);
}

} // namespace
