#include "compiler/Training/Buckets/Buckets.h"

#include "runtime/plan/Alignment.h"

#include <algorithm>
#include <map>

namespace cleave {

namespace {

constexpr int64_t kAlignBytes = rt::kStateAlignment;
constexpr int64_t kRankElements = 32;

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Returns the number of elements between two positions that are aligned in every type.
int64_t alignedElements(const BucketMember &member) {
  return std::max<int64_t>(kAlignBytes / (member.narrowestBytes ? member.narrowestBytes : member.elementBytes), 1);
}

struct OpenBucket {
  std::vector<size_t> members;
  int64_t bytes = 0; // of the members, without padding
  bool first = true;
};

Bucket layOut(std::vector<size_t> order, const std::vector<BucketMember> &members, int64_t ranks) {
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return members[a].group < members[b].group; });
  Bucket bucket;
  for (size_t i : order) {
    bucket.offsets.push_back(roundUp(bucket.elements, alignedElements(members[i])));
    bucket.elements = bucket.offsets.back() + members[i].elements;
  }
  int64_t unit = std::max(kRankElements, alignedElements(members[order.back()]));
  bucket.elements = roundUp(bucket.elements, unit * std::max<int64_t>(ranks, 1));
  bucket.members = std::move(order);
  return bucket;
}

} // namespace

std::vector<Bucket> formBuckets(const std::vector<BucketMember> &members, const BucketLimits &limits) {
  std::map<size_t, Bucket> done; // by the last member
  std::map<unsigned, OpenBucket> open;
  auto close = [&](OpenBucket &current) {
    done[current.members.back()] = layOut(current.members, members, limits.ranks);
    current = OpenBucket{{}, 0, false};
  };
  for (size_t i = 0; i < members.size(); ++i) {
    const BucketMember &member = members[i];
    OpenBucket &current = open[member.kind];
    current.members.push_back(i);
    current.bytes += member.elements * member.elementBytes;
    if (current.bytes >= (current.first ? limits.firstBytes : limits.bytes))
      close(current);
  }
  for (auto &[kind, current] : open)
    if (!current.members.empty())
      close(current);
  std::vector<Bucket> buckets;
  for (auto &[last, bucket] : done)
    buckets.push_back(std::move(bucket));
  return buckets;
}

} // namespace cleave
