// Reads the next global batch in the background while the ranks compute on the present one.
//
// Two batches of fixed size are allocated once. The reader's thread fills one while the other is in use. Only the parts
// of the ranks of this process are read. A rank's part may be in memory from which its device copies by itself. The
// part is in use until next() is called again, which is after the device has read it.
//
//   const Batch *batch = reader.next();              // waits, and gives the batch before it back to the reader
//   batch->bytes(localRank, frame, input)
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_BATCHREADER_H
#define CLEAVE_RUNTIME_TRAIN_DATA_BATCHREADER_H

#include "runtime/plan/FeedMemory.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/ReadPages.h"
#include "runtime/train/data/Sampler.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace cleave::rt {

// How a global batch is divided into data ranks, frames (micro-batches) and samples.
struct BatchGeometry {
  uint64_t samples = 1; // of one data rank and frame
  unsigned frames = 1;
  unsigned dataRanks = 1;
  std::vector<unsigned> localDataRanks;       // the data rank of each rank of this process
  std::vector<std::vector<bool>> unused = {}; // [rank of this process][input]: only other kinds read it; empty: none

  uint64_t globalBatch() const { return samples * frames * dataRanks; }
  bool uses(size_t localRank, size_t input) const { return unused.empty() || !unused[localRank][input]; }
};

struct Batch {
  uint64_t epoch = 0, position = 0;            // where the batch starts
  uint64_t nextEpoch = 0, nextPosition = 0;    // where the batch after it starts
  std::vector<std::vector<std::byte>> storage; // memory for parts of ranks that have no memory of their own
  std::vector<std::byte *> places;             // by (rank, frame, input)
  size_t size = 0;                             // of all parts, in bytes
  std::vector<uint64_t> samples;               // the sample at each place, by rank, frame and index
  unsigned frames = 0, inputs = 0;

  // The rank must use the input.
  std::byte *bytes(unsigned localRank, unsigned frame, unsigned input) const {
    return places[(localRank * frames + frame) * inputs + input];
  }
  uint64_t sample(unsigned localRank, unsigned frame, uint64_t i) const {
    return samples[(localRank * frames + frame) * (samples.size() / (places.size() / inputs)) + i];
  }
};

class BatchReader {
public:
  // Returns memory for a rank's part of a batch, which must outlive the reader. Null: the reader allocates it.
  using MemoryFn = std::function<std::byte *(unsigned localRank, size_t bytes)>;
  // Starts at (epoch, position). `sources`, one per input, must outlive the reader. `memory` is called in the
  // constructor, for each of the two batches.
  BatchReader(const std::vector<DataSource> &sources, const Sampler &sampler, const BatchGeometry &geometry,
              uint64_t epoch, uint64_t position, const MemoryFn &memory = {});
  ~BatchReader();

  const Batch *next();
  // The memory of both batches that the reader has allocated itself.
  size_t ownBytes() const;

private:
  void readAll();
  void fill(Batch &batch);
  std::vector<size_t> offsetsOf(size_t rank) const;
  void allocate(Batch &batch, const MemoryFn &memory) const;

  const std::vector<DataSource> &sources_;
  ReadPages pages_;
  Sampler sampler_;
  BatchGeometry geometry_;
  Batch batches_[kBatchesInMemory];
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t produced_ = 0, consumed_ = 0; // batches filled; batches given back
  bool holding_ = false, stopping_ = false;
  uint64_t epoch_, position_;
  std::thread thread_;
};

} // namespace cleave::rt

#endif
