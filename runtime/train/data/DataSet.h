// The data of all inputs of a program, and how they are copied to the ranks.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_DATASET_H
#define CLEAVE_RUNTIME_TRAIN_DATA_DATASET_H

#include "runtime/session/IndexRange.h"
#include "runtime/session/Session.h"
#include "runtime/state/ElementValue.h"
#include "runtime/train/data/BatchReader.h"

namespace cleave::rt {

// The sources are in the order of the program's inputs. Sample i of one source belongs to sample i of the others.
struct DataSet {
  std::vector<DataSource> sources;
  uint64_t samples = 0; // samples that all batched inputs have: the minimum

  // `option` ("--data") is named in messages. Every spec must name an input, and every input must have a spec, except
  // those that are `spared` (by index; empty: none). A spared input without a spec has a source that is not open.
  static Status open(const fb::Program &program, const std::vector<std::string> &specs, const char *option,
                     DataSet *result, const std::vector<bool> &spared = {});

  // A hash that tells these data from other data without reading all of it. It is made of the number of samples, and of
  // samples at equal distances as the files hold them. Data that differ only between those samples are taken for the
  // same.
  uint64_t fingerprint() const;
  // Fails if the processes of the session have different data: other numbers of samples, or other fingerprints. All
  // processes must call it.
  Status agree(Session &session, const std::string &option) const;
  // Memory that the data need: unpacked archives, and pages of files (ReadPages::mostBytes).
  uint64_t memoryBytes() const;
};

// Copies global batches into the frames of a program's inputs, on all local ranks.
class InputFeed {
public:
  // Reads `data` from (epoch, position) on. `data` must outlive the feed.
  static Status open(Session &session, const fb::Program &program, unsigned frames, const DataSet &data, uint64_t seed,
                     bool shuffle, LastBatch last, uint64_t epoch, uint64_t position, const char *option,
                     std::unique_ptr<InputFeed> *result);

  uint64_t globalBatch() const { return sampler_.globalBatch(); }
  uint64_t batchesPerEpoch() const { return sampler_.batchesPerEpoch(); }
  uint64_t batchesFrom(uint64_t position) const { return sampler_.batchesFrom(position); }
  uint64_t samples() const { return sampler_.samples(); }
  uint64_t tail() const { return sampler_.tail(); }
  // Waits for the next global batch. The batch is valid until the next call.
  const Batch &advance() { return *(batch_ = reader_->next()); }
  // Fails if a number of the local ranks' parts of the batch is no label or index that the model knows. Without this
  // check, the loss computed from it could be zero, and training would go on. Nothing runs meanwhile, so that the
  // states stay as they are.
  Status check() const;
  // Whether check() may fail: the same on all processes.
  bool canFail() const;
  // Feeds this rank's part of the current batch to its ports (Rank::feed), for a run of fed inputs. To be called on
  // the rank's thread.
  Status fill(unsigned local, Rank &rank) const;
  // For example "x.npy, sample 7: input 'x' holds a value that is not a number". The text is about the current batch, on
  // all ranks. Empty if all its values are finite. All processes must call it, and get the same text.
  NonFiniteValue findNonFinite() const;

private:
  NonFiniteValue findNonFinite(unsigned local) const;
  Status checkPart(unsigned local, unsigned input, unsigned frame) const;

  InputFeed(Session &session, const fb::Program &program, const DataSet &data, unsigned frames, const Sampler &sampler,
            std::vector<std::vector<IndexRange>> ranges)
      : session_(session), program_(program), data_(data), frames_(frames), sampler_(sampler),
        ranges_(std::move(ranges)) {}

  Session &session_;
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
