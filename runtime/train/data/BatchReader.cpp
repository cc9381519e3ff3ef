#include "runtime/train/data/BatchReader.h"

namespace cleave::rt {

BatchReader::BatchReader(const std::vector<DataSource> &sources, const Sampler &sampler, const BatchGeometry &geometry,
                         uint64_t epoch, uint64_t position, const MemoryFn &memory)
    : sources_(sources), pages_(sources), sampler_(sampler), geometry_(geometry), epoch_(epoch), position_(position) {
  for (Batch &batch : batches_)
    allocate(batch, memory);
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

// The offsets of a rank's inputs in its part, frame after frame, and the end of the part.
std::vector<size_t> BatchReader::offsetsOf(size_t rank) const {
  std::vector<size_t> offsets{0};
  for (unsigned frame = 0; frame < geometry_.frames; ++frame)
    for (size_t input = 0; input < sources_.size(); ++input) {
      const DataSource &source = sources_[input];
      size_t bytes = source.sampleBytes() * (source.input().batched ? geometry_.samples : 1);
      offsets.push_back(offsets.back() + (geometry_.uses(rank, input) ? bytesOfInput(bytes) : 0));
    }
  return offsets;
}

void BatchReader::allocate(Batch &batch, const MemoryFn &memory) const {
  batch.frames = geometry_.frames;
  batch.inputs = static_cast<unsigned>(sources_.size());
  for (size_t rank = 0; rank < geometry_.localDataRanks.size(); ++rank) {
    std::vector<size_t> offsets = offsetsOf(rank);
    size_t bytes = offsets.back();
    std::byte *part = memory ? memory(static_cast<unsigned>(rank), bytes) : nullptr;
    if (!part)
      part = batch.storage.emplace_back(bytes).data();
    for (size_t i = 0; i + 1 < offsets.size(); ++i)
      batch.places.push_back(part + offsets[i]);
    batch.size += bytes;
  }
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
  return &batches_[consumed_ % kBatchesInMemory];
}

size_t BatchReader::ownBytes() const {
  size_t bytes = 0;
  for (const Batch &batch : batches_)
    for (const std::vector<std::byte> &part : batch.storage)
      bytes += part.size();
  return bytes;
}

void BatchReader::readAll() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || produced_ < consumed_ + kBatchesInMemory; });
      if (stopping_)
        return;
    }
    Batch &batch = batches_[produced_ % kBatchesInMemory];
    if (!sampler_.hasBatch(position_)) {
      ++epoch_;
      position_ = 0;
    }
    batch.epoch = epoch_;
    batch.position = position_;
    fill(batch);
    position_ += sampler_.globalBatch();
    bool more = sampler_.hasBatch(position_);
    batch.nextEpoch = more ? epoch_ : epoch_ + 1;
    batch.nextPosition = more ? position_ : 0;
    std::lock_guard<std::mutex> lock(mutex_);
    ++produced_;
    changed_.notify_all();
  }
}

void BatchReader::fill(Batch &batch) {
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
          std::byte *target = batch.bytes(rank, frame, input);
          if (!source.input().batched && i != 0)
            continue;
          source.read(sample, target + i * source.sampleBytes());
          pages_.note(input, sample);
        }
      }
    }
  }
}

} // namespace cleave::rt
