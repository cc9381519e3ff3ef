// Reads the next global batch in the background while the ranks compute on this one.
//
// Two batches of fixed buffers are allocated once; the reader's thread fills one while the other is in use. Only the
// parts of the ranks of this process are read. A rank's part may lie in memory that its device copies from by itself: it
// is in use until next() is called again, which is after the device has read it.
//
//   const Batch *batch = reader.next();              // waits; the batch before it goes back to the reader
//   batch->bytes(localRank, frame, input)
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_BATCHREADER_H
#define CLEAVE_RUNTIME_TRAIN_DATA_BATCHREADER_H

#include "runtime/plan/FeedMemory.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Sampler.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace cleave::rt {

// How a global batch is laid over data ranks, frames (micro-batches) and samples.
struct BatchGeometry {
  uint64_t samples = 1; // of one data rank and frame
  unsigned frames = 1;
  unsigned dataRanks = 1;
  std::vector<unsigned> localDataRanks;  // the data rank of each rank of this process
  std::vector<std::vector<bool>> unused; // [rank of this process][input] that another kind of ranks reads; empty: none

  uint64_t globalBatch() const { return samples * frames * dataRanks; }
  bool uses(size_t localRank, size_t input) const { return unused.empty() || !unused[localRank][input]; }
};

struct Batch {
  uint64_t epoch = 0, position = 0;            // where it starts
  uint64_t nextEpoch = 0, nextPosition = 0;    // where the batch after it starts
  std::vector<std::vector<std::byte>> storage; // of ranks that have no other memory for their part
  std::vector<std::byte *> places;             // of (rank, frame, input)
  size_t size = 0;                             // of all parts, in bytes
  std::vector<uint64_t> samples;               // which sample lies at each place, rank after rank and frame after frame
  unsigned frames = 0, inputs = 0;

  // Of an input that the rank uses.
  std::byte *bytes(unsigned localRank, unsigned frame, unsigned input) const {
    return places[(localRank * frames + frame) * inputs + input];
  }
  uint64_t sample(unsigned localRank, unsigned frame, uint64_t i) const {
    return samples[(localRank * frames + frame) * (samples.size() / (places.size() / inputs)) + i];
  }
};

class BatchReader {
public:
  // Memory for a rank's part of a batch, which outlives the reader; null: the reader has its own.
  using MemoryFn = std::function<std::byte *(unsigned localRank, size_t bytes)>;
  // Starts at (epoch, position). `sources`, one per input, must outlive the reader. `memory` is asked here, for each of
  // the two batches.
  BatchReader(const std::vector<DataSource> &sources, const Sampler &sampler, const BatchGeometry &geometry,
              uint64_t epoch, uint64_t position, const MemoryFn &memory = {});
  ~BatchReader();

  const Batch *next();

private:
  void readAll();
  void fill(Batch &batch) const;
  std::vector<size_t> offsetsOf(size_t rank) const;
  void allocate(Batch &batch, const MemoryFn &memory) const;

  const std::vector<DataSource> &sources_;
  Sampler sampler_;
  BatchGeometry geometry_;
  Batch batches_[kBatchesInMemory];
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t produced_ = 0, consumed_ = 0; // batches filled; batches given back
  bool holding_ = false, stopping_ = false;
  uint64_t epoch_, position_;
  size_t readBytes_ = 0; // since pages were dropped
  std::thread thread_;
};

} // namespace cleave::rt

#endif
