#include "compiler/Planning/Draft/Allocator.h"

#include <gtest/gtest.h>

#include <random>

namespace cleave::plan {
namespace {

TEST(Allocator, ReusesBytesOfTheDead) {
  MemoryLayout got = allocate({{100, 64, {0, 1}}, {100, 64, {2, 3}}});
  EXPECT_EQ(got.offsets, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(got.peak, 100u);
}

TEST(Allocator, KeepsTheLivingApartAndAligned) {
  MemoryLayout got = allocate({{100, 64, {0, 2}}, {40, 64, {2, 3}}});
  EXPECT_EQ(got.offsets, (std::vector<uint64_t>{0, 128}));
  EXPECT_EQ(got.peak, 168u);
}

TEST(Allocator, TakesTheSmallestGapThatFits) {
  // Three long-lived buffers leave a gap of 256 bytes and one of 128 bytes when 1 and 3 die. The small buffer is placed
  // in the small gap.
  MemoryLayout got = allocate({{640, 64, {0, 9}},
                               {256, 64, {0, 4}},
                               {192, 64, {0, 9}},
                               {128, 64, {0, 4}},
                               {104, 64, {0, 9}},
                               {100, 64, {5, 9}}});
  EXPECT_EQ(got.offsets[5], got.offsets[3]);
}

TEST(Allocator, KeepsVeryManyApartToo) {
  // This number of requests is placed in the order of time.
  std::mt19937 random(7);
  std::vector<AllocationRequest> requests;
  for (size_t i = 0; i < 20000; ++i)
    requests.push_back({1 + random() % 5000, 64, {i, i + random() % 20}});
  MemoryLayout got = allocate(requests);
  uint64_t most = 0;
  for (size_t a = 0; a < requests.size(); ++a) {
    uint64_t live = requests[a].bytes;
    EXPECT_EQ(got.offsets[a] % 64, 0u);
    for (size_t b = a < 20 ? 0 : a - 20; b < a; ++b)
      if (requests[a].span.overlaps(requests[b].span)) {
        live += requests[b].bytes;
        EXPECT_TRUE(got.offsets[a] + requests[a].bytes <= got.offsets[b] ||
                    got.offsets[b] + requests[b].bytes <= got.offsets[a]);
      }
    most = std::max(most, live);
  }
  EXPECT_LE(got.peak, most * 2);
}

TEST(Allocator, NeverOverlapsInSpaceAndTime) {
  std::mt19937 random(7);
  std::vector<AllocationRequest> requests;
  for (int i = 0; i < 300; ++i) {
    size_t first = random() % 100;
    requests.push_back({1 + random() % 5000, 64, {first, first + random() % 20}});
  }
  MemoryLayout got = allocate(requests);
  uint64_t most = 0;
  for (size_t time = 0; time < 120; ++time) {
    uint64_t live = 0;
    for (const AllocationRequest &request : requests)
      live += request.span.overlaps({time, time}) ? request.bytes : 0;
    most = std::max(most, live);
  }
  for (size_t a = 0; a < requests.size(); ++a)
    for (size_t b = a + 1; b < requests.size(); ++b)
      if (requests[a].span.overlaps(requests[b].span))
        EXPECT_TRUE(got.offsets[a] + requests[a].bytes <= got.offsets[b] ||
                    got.offsets[b] + requests[b].bytes <= got.offsets[a]);
  EXPECT_LE(got.peak, most * 5 / 4) << "a quarter above the lower bound is too much";
}

} // namespace
} // namespace cleave::plan
