// Bounds the memory of mapped data: pages that were read are dropped after as many windows of 64 KiB as make 4 MiB.
//
// Pages count, not the bytes of samples. A sample of 32 bytes in a large file, read in shuffled order, maps the pages
// around it, too:
//
//   ReadPages pages(sources);
//   sources[0].read(sample, target);
//   pages.note(0, sample);
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_READPAGES_H
#define CLEAVE_RUNTIME_TRAIN_DATA_READPAGES_H

#include "runtime/train/data/DataSource.h"

#include <algorithm>

namespace cleave::rt {

// To be used by one thread.
class ReadPages {
public:
  explicit ReadPages(const std::vector<DataSource> &sources) : sources_(sources), ends_(sources.size()) {
    for (const DataSource &source : sources)
      most_ += source.mostMapped();
  }

  // The most memory of the pages. The system may map all of a folio of its page cache, of up to 2 MiB, where a window is
  // read. Data of less than kDropBytes stay mapped as a whole.
  static uint64_t mostBytes(const std::vector<DataSource> &sources) {
    constexpr uint64_t kWindow = 64u << 10, kFolio = 2u << 20;
    uint64_t all = 0;
    for (const DataSource &source : sources)
      all += source.mostMapped();
    return std::min<uint64_t>(all, kDropBytes / kWindow * kFolio);
  }

  // To be called after sample `i` of a source was read.
  void note(size_t source, uint64_t i) {
    bytes_ += sources_[source].mappedBy(i, &ends_[source]);
    if (bytes_ < kDropBytes || most_ < kDropBytes)
      return;
    for (const DataSource &each : sources_)
      each.dropPages();
    ends_.assign(sources_.size(), 0);
    bytes_ = 0;
  }

private:
  const std::vector<DataSource> &sources_;
  std::vector<uintptr_t> ends_; // of the pages that the last read of each source has mapped
  size_t bytes_ = 0, most_ = 0; // read since the last drop; of all samples
};

} // namespace cleave::rt

#endif
