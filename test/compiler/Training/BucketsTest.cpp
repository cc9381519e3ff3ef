#include "compiler/Training/Buckets/Buckets.h"

#include "gtest/gtest.h"

using namespace cleave;
using Indices = std::vector<size_t>;

namespace {
std::vector<Indices> membersOf(const std::vector<Bucket> &buckets) {
  std::vector<Indices> result;
  for (const Bucket &bucket : buckets)
    result.push_back(bucket.members);
  return result;
}
} // namespace

TEST(Buckets, TheHeadersExample) {
  auto buckets = formBuckets({{80, 1, 0}, {60, 1, 0}, {900, 1, 0}, {200, 1, 0}, {10, 1, 0}}, {1000, 100, 1});
  EXPECT_EQ(membersOf(buckets), (std::vector<Indices>{{0, 1}, {2, 3}, {4}}));
}

TEST(Buckets, KindsDoNotMixAndBucketsComeInTheOrderOfTheirLastMembers) {
  auto buckets = formBuckets({{8, 4, 0}, {8, 4, 1}, {8, 4, 1}, {8, 4, 0}}, {1 << 20, 1 << 20, 1});
  EXPECT_EQ(membersOf(buckets), (std::vector<Indices>{{1, 2}, {0, 3}}));
}

TEST(Buckets, MembersBeginOn128BytesAndRanksGetEqualAlignedParts) {
  auto buckets = formBuckets({{5, 4, 0}, {33, 4, 0}, {1, 4, 0}}, {1 << 20, 1 << 20, 4});
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_EQ(buckets[0].offsets, (std::vector<int64_t>{0, 32, 96}));
  EXPECT_EQ(buckets[0].elements, 128);
}

TEST(Buckets, AlignmentCountsBytesNotElements) {
  auto buckets = formBuckets({{1, 2, 0}, {1, 2, 0}}, {1 << 20, 1 << 20, 1});
  EXPECT_EQ(buckets[0].offsets, (std::vector<int64_t>{0, 64}));
}

// f32 gradients of bf16 parameters: 128 bytes of the parameters are 64 elements.
TEST(Buckets, TheNarrowestTypeOfAMemberSaysWhatIsAligned) {
  auto buckets = formBuckets({{5, 4, 0, 2}, {5, 4, 0, 2}}, {1 << 20, 1 << 20, 4});
  EXPECT_EQ(buckets[0].offsets, (std::vector<int64_t>{0, 64}));
  EXPECT_EQ(buckets[0].elements, 256);
}

// Members are ordered by group, and inside a group in backward order. The last member still determines the buckets'
// order.
TEST(Buckets, GroupsShareABucketAndAreARangeEach) {
  auto buckets = formBuckets({{8, 4, 0, 0, 2}, {8, 4, 0, 0, 0}, {8, 4, 1, 0, 1}, {8, 4, 0, 0, 2}, {8, 4, 0, 0, 0}},
                             {1 << 20, 1 << 20, 1});
  EXPECT_EQ(membersOf(buckets), (std::vector<Indices>{{2}, {1, 4, 0, 3}}));
  EXPECT_EQ(buckets[1].offsets, (std::vector<int64_t>{0, 32, 64, 96}));
}

TEST(Buckets, AMemberAboveTheCapIsABucketOfItsOwn) {
  auto buckets = formBuckets({{1000, 4, 0}, {1000, 4, 0}}, {64, 64, 1});
  EXPECT_EQ(membersOf(buckets), (std::vector<Indices>{{0}, {1}}));
}

TEST(Buckets, NothingInNothingOut) { EXPECT_TRUE(formBuckets({}, {1, 1, 1}).empty()); }
