#include "runtime/train/data/BatchReader.h"

namespace cleave::rt {

BatchReader::BatchReader(const std::vector<DataSource> &sources, const Sampler &sampler, const BatchGeometry &geometry,
                         uint64_t epoch, uint64_t position)
    : sources_(sources), sampler_(sampler), geometry_(geometry), epoch_(epoch), position_(position) {
  for (Batch &batch : batches_)
    allocate(batch);
  thread_ = std::thread([this] { readAll(); });
}

BatchReader::~BatchReader() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchReader::allocate(Batch &batch) const {
  batch.frames = geometry_.frames;
  batch.inputs = static_cast<unsigned>(sources_.size());
  size_t size = 0;
  for (size_t i = 0; i < geometry_.localDataRanks.size() * geometry_.frames; ++i)
    for (size_t input = 0; input < sources_.size(); ++input) {
      const DataSource &source = sources_[input];
      batch.offsets.push_back(size);
      size_t bytes = source.sampleBytes() * (source.input().batched ? geometry_.samples : 1);
      if (geometry_.uses(i / geometry_.frames, input))
        size += (bytes + 63) / 64 * 64;
    }
  batch.storage.resize(size);
  batch.samples.resize(geometry_.localDataRanks.size() * geometry_.frames * geometry_.samples);
}

const Batch *BatchReader::next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (holding_) {
    ++consumed_;
    changed_.notify_all();
  }
  holding_ = true;
  changed_.wait(lock, [this] { return produced_ > consumed_; });
  return &batches_[consumed_ % 2];
}

void BatchReader::readAll() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || produced_ < consumed_ + 2; });
      if (stopping_)
        return;
    }
    Batch &batch = batches_[produced_ % 2];
    if (!sampler_.hasBatch(position_)) {
      ++epoch_;
      position_ = 0;
    }
    batch.epoch = epoch_;
    batch.position = position_;
    fill(batch);
    readBytes_ += batch.storage.size();
    if (readBytes_ >= kDropBytes) {
      for (const DataSource &source : sources_)
        source.dropPages();
      readBytes_ = 0;
    }
    position_ += sampler_.globalBatch();
    bool more = sampler_.hasBatch(position_);
    batch.nextEpoch = more ? epoch_ : epoch_ + 1;
    batch.nextPosition = more ? position_ : 0;
    std::lock_guard<std::mutex> lock(mutex_);
    ++produced_;
    changed_.notify_all();
  }
}

void BatchReader::fill(Batch &batch) const {
  Permutation order = sampler_.order(batch.epoch);
  uint64_t *next = batch.samples.data();
  for (unsigned rank = 0; rank < geometry_.localDataRanks.size(); ++rank) {
    uint64_t place = batch.position + geometry_.localDataRanks[rank] * geometry_.frames * geometry_.samples;
    for (unsigned frame = 0; frame < geometry_.frames; ++frame) {
      for (uint64_t i = 0; i < geometry_.samples; ++i, ++place) {
        uint64_t sample = sampler_.sample(order, place);
        *next++ = sample;
        for (unsigned input = 0; input < sources_.size(); ++input) {
          if (!geometry_.uses(rank, input))
            continue;
          const DataSource &source = sources_[input];
          std::byte *target = batch.storage.data() + (batch.bytes(rank, frame, input) - batch.storage.data());
          if (source.input().batched)
            source.read(sample, target + i * source.sampleBytes());
          else if (i == 0)
            source.read(0, target);
        }
      }
    }
  }
}

} // namespace cleave::rt
