#include "runtime/train/data/Sampler.h"

#include "runtime/base/Philox.h"

namespace cleave::rt {
namespace {

// Four rounds give a pseudo-random permutation (Luby & Rackoff 1988). Two more are added for small halves.
constexpr unsigned kRounds = 6;

} // namespace

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size_(size), seed_(seed), epoch_(epoch) {
  halfBits_ = 1;
  while (halfBits_ < 32 && (uint64_t(1) << (2 * halfBits_)) < size)
    ++halfBits_;
}

uint64_t Permutation::encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t(1) << halfBits_) - 1;
  uint64_t left = value >> halfBits_, right = value & mask;
  for (unsigned round = 0; round < kRounds; ++round) {
    Philox4 bits = philox4x32(
        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)},
        {static_cast<uint32_t>(right), round, static_cast<uint32_t>(epoch_), static_cast<uint32_t>(epoch_ >> 32)});
    uint64_t next = left ^ (bits[0] & mask);
    left = right;
    right = next;
  }
  return left << halfBits_ | right;
}

uint64_t Permutation::operator()(uint64_t i) const {
  // The network permutes a power of four below 4 * size, so on average fewer than four applications are needed.
  do
    i = encrypt(i);
  while (i >= size_);
  return i;
}

// A position need not be a multiple of the global batch: the checkpoint may be from another number of ranks.
bool Sampler::hasBatch(uint64_t position) const {
  if (last_ == LastBatch::Measure)
    return position / globalBatch_ < batchesPerEpoch();
  return position < samples_ && (last_ == LastBatch::Pad || samples_ - position >= globalBatch_);
}

uint64_t Sampler::batchesFrom(uint64_t position) const {
  if (!hasBatch(position))
    return 0;
  Sampler rest = *this;
  rest.samples_ = samples_ - position;
  return rest.batchesPerEpoch();
}

uint64_t Sampler::batchesPerEpoch() const {
  uint64_t whole = samples_ / globalBatch_;
  if (last_ == LastBatch::Drop || last_ == LastBatch::Leave || tail() == 0)
    return whole;
  return whole + (last_ == LastBatch::Measure ? 2 : 1);
}

} // namespace cleave::rt
