// Which sample is at which place of an epoch, without a list of them.
//
// The shuffle of an epoch is a permutation of [0, n) made of a Feistel network over Philox, keyed by (seed, epoch) and
// walked until it lands below n (Black & Rogaway 2002). It needs no memory, is the same on every machine and for every
// number of ranks, and any place can be asked for, which is what makes resuming cheap.
//
// A position counts the samples of the epoch that all ranks have used; the global batch at position p is the places
// [p, p + G), and place p + i goes to data rank i div (G / data ranks).
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

// What becomes of the samples left when no whole global batch is: dropped, or padded with the epoch's first ones.
// Measure is for sums over samples that must count each once: the batch is filled with copies of the last sample, and
// another batch of copies alone follows, whose sums tell what the filling has added (Evaluator.h). Leave is Drop where
// no option asked for it.
enum class LastBatch { Drop, Pad, Measure, Leave };

class Sampler {
public:
  Sampler(uint64_t samples, uint64_t globalBatch, uint64_t seed, bool shuffle, LastBatch last)
      : samples_(samples), globalBatch_(globalBatch), seed_(seed), shuffle_(shuffle), last_(last) {}

  // Whether a global batch starts at this position.
  bool hasBatch(uint64_t position) const;
  uint64_t batchesPerEpoch() const;
  // The global batches of the epoch that start here or later.
  uint64_t batchesFrom(uint64_t position) const;
  // Samples beyond the last whole global batch.
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
