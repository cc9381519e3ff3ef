// The content (Content.h) of one frame of a region, on any rank of a kind.
//
// Most accesses are to the same range on every rank. A *share* is a range that depends on a rank's coordinates
// (Plan.fbs): a write to one changes other bytes on each rank. So memory has layers: the whole, and, for each layout of
// shares, the ranks' own parts that were written after the whole.
//
//   whole            [ w                                ]     written by all ranks
//   writeShare       [ w        | own part: u |         ]     rank 1's view; on rank 0 the part lies first
//   readShare        u, on every rank
//   read             kNoValue: each rank has written only its own part, and an all_gather must bring the others'
//
// A share of bytes that were written whole is a share of that value (Content::shareOf). A write over a part of a share
// with another layout ends that share, because nobody can tell which of its bytes are left.
//
// Rejected: "a share of u in w" as an expression of the whole. It could be read as a whole, so that a dropped
// all_gather was not noticed.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_MEMORYCONTENTS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_VALUES_MEMORYCONTENTS_H

#include "compiler/Planning/Verify/Facts/Content.h"

#include <map>

namespace cleave::plan {

// How a range is divided among the ranks of a group: the part of the rank with index i begins i * stride bytes after
// that of the first.
struct ShareLayout {
  ValueNumber group; // the group's number
  AxisMask axes = 0;
  uint64_t ranks = 1, stride = 0;
  bool operator<(const ShareLayout &other) const {
    return group != other.group ? group < other.group : stride < other.stride;
  }
};

class MemoryContents {
public:
  // Reads [begin, end). Sets `hasParts` if ranks have written only their own parts of it.
  Content read(uint64_t begin, uint64_t end, bool *hasParts) const;
  // Reads the rank's own part; [begin, end) is the first rank's. Adds to `wholes` the pieces that were written whole
  // and of which a share is read.
  Content readShare(const ShareLayout &layout, uint64_t begin, uint64_t end, bool *hasParts,
                    std::vector<Piece> *wholes = nullptr) const;
  // Looks at ranges around [begin, end) that hold one value after the other, without a gap. Returns where they begin,
  // and where they end: the nearest `count` of each.
  std::pair<std::vector<uint64_t>, std::vector<uint64_t>> edgesAround(uint64_t begin, uint64_t end, size_t count) const;
  // The axes over which ranks have written only parts of [begin, end).
  AxisMask partAxes(uint64_t begin, uint64_t end) const;
  void write(uint64_t begin, const Content &content);
  void writeShare(const ShareLayout &layout, uint64_t begin, const Content &content);
  void forget(uint64_t begin, uint64_t end);

private:
  struct Cell {
    uint64_t end = 0;
    Piece piece; // the content of the whole cell
  };
  using Cells = std::map<uint64_t, Cell>;
  static void split(Cells &cells, uint64_t at);
  static void erase(Cells &cells, uint64_t begin, uint64_t end);
  static void put(Cells &cells, uint64_t begin, const Content &content);
  Content readWhole(uint64_t begin, uint64_t end) const;
  // Calls `visit` for each own part, as (layout, its cells, the part), if some rank's bytes of it are among those of
  // another access. This access is to [begin, end) on every rank, or to the share of `layout` that begins there.
  template <typename Own, typename Visit>
  static void forEachMet(Own &own, const ShareLayout *layout, uint64_t begin, uint64_t end, Visit visit);
  void endShares(const ShareLayout *layout, uint64_t begin, uint64_t end);

  Cells whole_;
  std::map<ShareLayout, Cells> own_; // by the first rank's bytes
};

} // namespace cleave::plan

#endif
