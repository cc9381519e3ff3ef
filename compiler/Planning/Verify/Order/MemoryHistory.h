// Who last wrote, and who has read since then, every byte of one frame of a region.
//
// It also knows, for each byte, the axes of the mesh along which its value may differ between ranks, and whether only
// the rank's share of it is known to be written. MemoryContents knows the content of the bytes.
//
// Bytes with the same history share a cell; an access splits cells at its ends. So the history of a plan that uses
// whole buffers has about as many cells as buffers, whatever their sizes.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_MEMORYHISTORY_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_ORDER_MEMORYHISTORY_H

#include "compiler/Planning/Verify/Facts/Content.h"
#include "compiler/Planning/Verify/Facts/Ranges.h"
#include "compiler/Planning/Verify/PlanText.h"

#include <map>
#include <optional>
#include <vector>

namespace cleave::plan {

// One instruction at one point of the execution: the `tick`-th of its stream.
struct Moment {
  unsigned stream = 0;
  uint64_t tick = 0;
  InstructionRef ref;
  uint64_t step = 0; // of the execution, all streams counted
  int64_t frame = 0; // the frame of the bytes accessed, if their region has several
};

// The rank's share of a range: group number + 1, as in fb::Buffer, and the bytes of the first rank's share.
struct ShareRange {
  unsigned group = 0;
  uint64_t stride = 0, begin = 0, end = 0;
  AxisMask varies = 0;
};

class MemoryHistory {
public:
  struct Cell {
    uint64_t end = 0;
    bool initialized = false;
    std::vector<ShareRange> shares; // the shares of it that were written after it was written whole
    AxisMask varies = 0;            // the axes along which ranks may hold different values
    std::optional<Moment> writer;
    std::vector<Moment> readers; // the last one of every stream since the write
  };
  using Cells = std::map<uint64_t, Cell>; // by first byte

  explicit MemoryHistory(uint64_t bytes) {
    if (bytes != 0)
      cells_[0] = {bytes, false, {}, 0, std::nullopt, {}};
  }

  // The cells that make up exactly [begin, end).
  std::pair<Cells::iterator, Cells::iterator> range(uint64_t begin, uint64_t end) {
    splitRange(cells_, begin);
    splitRange(cells_, end);
    return {cells_.lower_bound(begin), cells_.lower_bound(end)};
  }
  const Cells &cells() const { return cells_; }
  // What was written after step `since` counts as written `frames` frames later.
  void moveOn(int64_t frames, uint64_t since);
  void recordRead(uint64_t begin, uint64_t end, const Moment &moment);
  void recordWrite(uint64_t begin, uint64_t end, const Moment &moment, AxisMask varies);
  // Records a write to the rank's share alone. [begin, end) covers the shares of all ranks.
  void recordShareWrite(uint64_t begin, uint64_t end, const Moment &moment, const ShareRange &share);
  // Records a write that leaves no value, also not in the shares that lie there.
  void recordLoss(uint64_t begin, uint64_t end, const Moment &moment, AxisMask varies);

private:
  Cells cells_;
};

// True if everything is written that any rank needs of a cell: the part of its share that lies there.
bool covers(const MemoryHistory::Cells::value_type &cell, const ShareRange &needed);
// The axes along which the needed bytes of a cell may differ. Other shares of it do not matter.
AxisMask variesOf(const MemoryHistory::Cells::value_type &cell, const ShareRange &needed);

} // namespace cleave::plan

#endif
