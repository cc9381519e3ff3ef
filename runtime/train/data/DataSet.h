// The data of all inputs of a program, and how they get to the ranks.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_DATASET_H
#define CLEAVE_RUNTIME_TRAIN_DATA_DATASET_H

#include "runtime/session/IndexRange.h"
#include "runtime/session/Session.h"
#include "runtime/train/data/BatchReader.h"

namespace cleave::rt {

// Sources in the order of a program's inputs; sample i of one belongs to sample i of the others.
struct DataSet {
  std::vector<DataSource> sources;
  uint64_t samples = 0; // what all batched inputs have: the least of them

  // `option` ("--data") is named in messages. Every spec needs an input, and every input a spec, but for those that are
  // `spared` (by their place; empty: none): their source is not open where they have none.
  static Status open(const fb::Program &program, const std::vector<std::string> &specs, const char *option,
                     DataSet *result, const std::vector<bool> &spared = {});

  // What tells these data from others without reading all: a hash of samples that lie evenly over them, as the files
  // hold them, and of how many there are. Data that differ elsewhere only are taken for the same.
  uint64_t fingerprint() const;
};

// Copies global batches into the frames of a program's inputs, on all local ranks.
class InputFeed {
public:
  // Reads `data` (which must outlive the feed) from (epoch, position) on.
  static Status open(Session &session, const fb::Program &program, unsigned frames, const DataSet &data, uint64_t seed,
                     bool shuffle, LastBatch last, uint64_t epoch, uint64_t position, const char *option,
                     std::unique_ptr<InputFeed> *result);

  uint64_t globalBatch() const { return sampler_.globalBatch(); }
  uint64_t batchesPerEpoch() const { return sampler_.batchesPerEpoch(); }
  uint64_t batchesFrom(uint64_t position) const { return sampler_.batchesFrom(position); }
  uint64_t samples() const { return sampler_.samples(); }
  uint64_t tail() const { return sampler_.tail(); }
  // Waits for the next global batch; it stays until the next call.
  const Batch &advance() { return *(batch_ = reader_->next()); }
  // Feeds this rank's part of the current batch to its ports (Rank::feed), for the run that follows; called on the rank's
  // thread. Fails where a number is no label or index that the model knows: a loss computed from it could be zero, and
  // training would go on.
  Status fill(unsigned local, Rank &rank) const;
  // "x.npy, sample 7: input 'x' holds a value that is not a number": the first such value of the rank's part of the
  // current batch, or else its first infinite one; empty where all are finite.
  std::string findNonFinite(unsigned local, Rank &rank) const;

private:
  InputFeed(const fb::Program &program, const DataSet &data, unsigned frames, const Sampler &sampler,
            std::vector<std::vector<IndexRange>> ranges)
      : program_(program), data_(data), frames_(frames), sampler_(sampler), ranges_(std::move(ranges)) {}

  const fb::Program &program_;
  const DataSet &data_;
  unsigned frames_;
  Sampler sampler_;
  std::vector<std::vector<IndexRange>> ranges_; // by input
  std::unique_ptr<BatchReader> reader_;
  const Batch *batch_ = nullptr;
};

} // namespace cleave::rt

#endif
