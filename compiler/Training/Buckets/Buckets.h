// Which gradients share a bucket, and where each begins in it.
//
// Members are taken in the order in which the backward pass completes them. A bucket takes members of one kind (types,
// unit) until it reaches its cap, as PyTorch's DDP does: a member larger than the cap is a bucket of its own, not an
// error. The first bucket of a kind has a smaller cap, so that communication begins early. Example, caps 100 and 1000
// bytes:
//
//   members   a: 80 B   b: 60 B   c: 900 B   d: 200 B   e: 10 B
//   buckets   {a, b}              {c, d}                {e}
//
// A bucket comes after another when its last member does. In a bucket members lie by parameter group, so that each
// group is one range of it, and inside a group in the order above. Every member begins on a multiple of 128 bytes, and
// the length is a multiple of ranks times that (and at least of 32 * ranks elements), so that equal parts of it begin
// on such multiples too. Parameters and gradients may have different types: the narrowest says how many elements 128
// bytes are.
#ifndef CLEAVE_COMPILER_TRAINING_BUCKETS_BUCKETS_H
#define CLEAVE_COMPILER_TRAINING_BUCKETS_BUCKETS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave {

struct BucketMember {
  int64_t elements;
  int64_t elementBytes;
  unsigned kind;              // equal: may share a bucket
  int64_t narrowestBytes = 0; // of an element of all that gets the bucket's layout, stored or read; 0: elementBytes
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
