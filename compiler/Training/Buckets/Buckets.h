// Decides which gradients share a bucket, and at which element each begins.
//
// Members are added in the order in which the backward pass completes them. All members of a bucket are of one kind
// (types, unit). A bucket is closed when it reaches its cap, as in PyTorch's DDP. So a member that is larger than the
// cap is not an error: it closes its bucket. The first bucket of a kind has a smaller cap, so that communication begins
// early. Example, with caps of 100 and 1000 bytes:
//
//   members   a: 80 B   b: 60 B   c: 900 B   d: 200 B   e: 10 B
//   buckets   {a, b}              {c, d}                {e}
//
// Buckets are in the order of their last members. In a bucket, members are sorted by parameter group, so that each
// group is one range, and inside of a group they are in the order above. Every member begins at a multiple of 128
// bytes. The length is a multiple of ranks times that (and of 32 * ranks elements), so that equal parts of the bucket
// begin at such multiples too. If parameters and gradients have different types, the narrowest one says how many
// elements 128 bytes are.
#ifndef CLEAVE_COMPILER_TRAINING_BUCKETS_BUCKETS_H
#define CLEAVE_COMPILER_TRAINING_BUCKETS_BUCKETS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave {

struct BucketMember {
  int64_t elements;
  int64_t elementBytes;
  unsigned kind;              // members of equal kinds may share a bucket
  int64_t narrowestBytes = 0; // bytes of the narrowest element with this layout, stored or read; 0: elementBytes
  int64_t group = 0;          // parameter group
};

struct BucketLimits {
  int64_t bytes;
  int64_t firstBytes;
  int64_t ranks;
};

struct Bucket {
  std::vector<size_t> members;
  std::vector<int64_t> offsets; // of each member, in elements
  int64_t elements = 0;         // with all padding
};

std::vector<Bucket> formBuckets(const std::vector<BucketMember> &members, const BucketLimits &limits);

} // namespace cleave

#endif
