// Computes which sample is at which position of an epoch, without a list of samples.
//
// The shuffle of an epoch is a permutation of [0, n): a Feistel network over Philox, keyed by (seed, epoch), which is
// applied again until the result is below n (Black & Rogaway 2002). It needs no memory, and is the same on every
// machine and for every number of ranks. Every element of it can be computed directly, so a run can be resumed anywhere
// at no cost.
//
// A position counts the samples of the epoch that all ranks have used. The global batch at position p has the places
// [p, p + G), and place p + i belongs to data rank i div (G / data ranks).
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_SAMPLER_H
#define CLEAVE_RUNTIME_TRAIN_DATA_SAMPLER_H

#include <algorithm>
#include <cstdint>

namespace cleave::rt {

class Permutation {
public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch);
  uint64_t operator()(uint64_t i) const; // i < size
private:
  uint64_t encrypt(uint64_t value) const;

  uint64_t size_, seed_, epoch_;
  unsigned halfBits_;
};

// What to do with the last samples of an epoch if they do not fill a global batch. Drop: leave them out. Pad: fill the
// batch with the epoch's first samples. Measure: for sums that must count each sample once; the batch is filled with
// copies of the last sample, and one more batch of only these copies follows, whose sums tell what the copies have
// added (Evaluator.h). Leave: like Drop, but no option has asked for it.
enum class LastBatch { Drop, Pad, Measure, Leave };

class Sampler {
public:
  Sampler(uint64_t samples, uint64_t globalBatch, uint64_t seed, bool shuffle, LastBatch last)
      : samples_(samples), globalBatch_(globalBatch), seed_(seed), shuffle_(shuffle), last_(last) {}

  // True if a global batch starts at this position.
  bool hasBatch(uint64_t position) const;
  uint64_t batchesPerEpoch() const;
  // The number of global batches of the epoch that start at this position or later.
  uint64_t batchesFrom(uint64_t position) const;
  // The number of samples after the last whole global batch.
  uint64_t tail() const { return samples_ % globalBatch_; }
  uint64_t globalBatch() const { return globalBatch_; }
  uint64_t samples() const { return samples_; }
  Permutation order(uint64_t epoch) const { return {samples_, seed_, epoch}; }
  // The sample at a place of the epoch that `order` belongs to.
  uint64_t sample(const Permutation &order, uint64_t place) const {
    uint64_t inside = last_ == LastBatch::Measure ? std::min(place, samples_ - 1) : place % samples_;
    return shuffle_ ? order(inside) : inside;
  }

private:
  uint64_t samples_, globalBatch_, seed_;
  bool shuffle_;
  LastBatch last_;
};

} // namespace cleave::rt

#endif
