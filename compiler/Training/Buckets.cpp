#include "compiler/Training/Buckets.h"

#include <algorithm>
#include <map>

namespace cleave {

namespace {

constexpr int64_t kAlignBytes = 128;
constexpr int64_t kRankElements = 32;

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Elements between two places that are aligned in every type.
int64_t alignedElements(const BucketMember &member) {
  return std::max<int64_t>(kAlignBytes / (member.narrowestBytes ? member.narrowestBytes : member.elementBytes), 1);
}

struct OpenBucket {
  Bucket bucket;
  int64_t bytes = 0; // of the members alone: caps do not count padding
  bool first = true;
};

} // namespace

std::vector<Bucket> formBuckets(const std::vector<BucketMember> &members, const BucketLimits &limits) {
  std::vector<Bucket> done;
  std::map<unsigned, OpenBucket> open;
  auto close = [&](OpenBucket &current) {
    int64_t unit = std::max(kRankElements, alignedElements(members[current.bucket.members.back()]));
    current.bucket.elements = roundUp(current.bucket.elements, unit * std::max<int64_t>(limits.ranks, 1));
    done.push_back(std::move(current.bucket));
    current = OpenBucket{{}, 0, false};
  };
  for (size_t i = 0; i < members.size(); ++i) {
    const BucketMember &member = members[i];
    OpenBucket &current = open[member.kind];
    int64_t offset = roundUp(current.bucket.elements, alignedElements(member));
    current.bucket.members.push_back(i);
    current.bucket.offsets.push_back(offset);
    current.bucket.elements = offset + member.elements;
    current.bytes += member.elements * member.elementBytes;
    if (current.bytes >= (current.first ? limits.firstBytes : limits.bytes))
      close(current);
  }
  for (auto &[kind, current] : open)
    if (!current.bucket.members.empty())
      close(current);
  std::sort(done.begin(), done.end(),
            [](const Bucket &a, const Bucket &b) { return a.members.back() < b.members.back(); });
  return done;
}

} // namespace cleave
