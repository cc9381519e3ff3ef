#include "compiler/Planning/Verify/Values/MemoryContents.h"

#include "compiler/Planning/Verify/Facts/Ranges.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace cleave::plan {

static Piece skip(Piece piece, uint64_t bytes) {
  piece.offset = piece.period ? (piece.offset + bytes) % piece.period : piece.offset + bytes;
  return piece;
}

void MemoryContents::split(Cells &cells, uint64_t at) {
  auto upper = splitRange(cells, at);
  if (upper == cells.end())
    return;
  auto lower = std::prev(upper);
  upper->second.piece = skip(upper->second.piece, at - lower->first);
  upper->second.piece.bytes = upper->second.end - at;
  lower->second.piece.bytes = at - lower->first;
}

void MemoryContents::erase(Cells &cells, uint64_t begin, uint64_t end) {
  split(cells, begin);
  split(cells, end);
  cells.erase(cells.lower_bound(begin), cells.lower_bound(end));
}

void MemoryContents::put(Cells &cells, uint64_t begin, const Content &content) {
  erase(cells, begin, begin + content.bytes());
  for (const Piece &piece : content.pieces()) {
    cells[begin] = {begin + piece.bytes, piece};
    begin += piece.bytes;
  }
}

static Piece nothing(uint64_t bytes) { return {bytes, kNoValue, 0, 0, 0}; }

Content MemoryContents::readWhole(uint64_t begin, uint64_t end) const {
  Content content;
  auto cell = whole_.upper_bound(begin);
  if (cell != whole_.begin() && std::prev(cell)->second.end > begin)
    --cell;
  for (; begin < end; ++cell) {
    uint64_t first = cell == whole_.end() ? end : std::min(cell->first, end);
    if (first > begin)
      content.append(nothing(first - begin));
    if (first == end)
      break;
    begin = std::max(begin, first);
    Piece piece = skip(cell->second.piece, begin - cell->first);
    piece.bytes = std::min(end, cell->second.end) - begin;
    content.append(piece);
    begin += piece.bytes;
  }
  return content;
}

// True if [from, to) of the first rank's bytes meets [begin, end) after it is moved by some places, but not by none.
//
// Both ranges are shares of one layout, and a place is one stride. If [from, to) meets [begin, end) after it is moved
// by k places, then there is a byte that is in the part of the rank with index i + k and in the access of the rank with
// index i. With k = 0 both are of one rank, and the caller handles that. An example has a stride of 8, 3 ranks, and the
// part [0, 4). Digits are the ranks' indices:
//
//   byte              0       8       16      24
//   part              0000    1111    2222
//   access [6, 10)          0000    1111    2222       true: byte 8 is in the part of rank 1 and the access of rank 0
//   access [4, 8)         0000    1111    2222         false: two members of a bucket that are cut in one way
//
// After a meeting, the caller gives up the part or reads no value. This may refuse a right plan. It never accepts a
// wrong one.
static bool meetsShifted(const ShareLayout &layout, uint64_t from, uint64_t to, uint64_t begin, uint64_t end) {
  auto stride = static_cast<int64_t>(layout.stride), ranks = static_cast<int64_t>(layout.ranks);
  auto low = static_cast<int64_t>(begin - to), high = static_cast<int64_t>(end - from);
  // A division rounds towards zero, so the loop begins one place earlier and ends one place later.
  for (int64_t places = low / stride - 1; places <= high / stride + 1; ++places)
    if (places != 0 && std::abs(places) < ranks && low < places * stride && places * stride < high)
      return true;
  return false;
}

// True if some rank's own part meets [begin, end). [from, to) is the first rank's part.
// `rank` is the first rank whose part ends after `begin`. If its part begins at `end` or later, so do the parts of all
// ranks after it. For example, with a stride of 8 and 3 ranks, the parts are [0, 4), [8, 12) and [16, 20). For the
// access [12, 16), `rank` is 2, and the answer is false.
static bool meetsAny(const ShareLayout &layout, uint64_t from, uint64_t to, uint64_t begin, uint64_t end) {
  uint64_t rank = to > begin ? 0 : (begin - to) / layout.stride + 1;
  return rank < layout.ranks && from + rank * layout.stride < end;
}

template <typename Own, typename Visit>
void MemoryContents::forEachMet(Own &own, const ShareLayout *layout, uint64_t begin, uint64_t end, Visit visit) {
  uint64_t last = layout ? end + (layout->ranks - 1) * layout->stride : end;
  for (auto &[other, cells] : own) {
    bool isSame = layout && !(*layout < other) && !(other < *layout);
    // The last rank's part lies `reach` bytes after the first rank's. Parts of one layout do not overlap. So of those
    // that begin before `begin - reach`, only the last one can end after it.
    uint64_t reach = (other.ranks - 1) * other.stride;
    auto cell = cells.lower_bound(begin > reach ? begin - reach : 0);
    if (cell != cells.begin())
      --cell;
    while (cell != cells.end() && cell->first < last) {
      auto at = cell++; // the visitor may erase it
      uint64_t from = at->first, to = at->second.end;
      // Shares of two layouts are compared as ranges from the first rank's bytes to the last rank's. This may find a
      // meeting where there is none, and misses none.
      bool meets = isSame   ? meetsShifted(other, from, to, begin, end)
                   : layout ? to + reach > begin
                            : meetsAny(other, from, to, begin, end);
      if (meets)
        visit(other, cells, at);
    }
  }
}

Content MemoryContents::read(uint64_t begin, uint64_t end, bool *hasParts) const {
  bool met = false;
  forEachMet(own_, nullptr, begin, end, [&](auto &&...) { met = true; });
  *hasParts |= met;
  Content none;
  none.append(nothing(end - begin));
  return met ? none : readWhole(begin, end);
}

AxisMask MemoryContents::partAxes(uint64_t begin, uint64_t end) const {
  AxisMask axes = 0;
  forEachMet(own_, nullptr, begin, end, [&](const ShareLayout &layout, auto &&...) { axes |= layout.axes; });
  return axes;
}

std::pair<std::vector<uint64_t>, std::vector<uint64_t>> MemoryContents::edgesAround(uint64_t begin, uint64_t end,
                                                                                    size_t count) const {
  std::pair<std::vector<uint64_t>, std::vector<uint64_t>> edges{{begin}, {end}};
  auto cell = whole_.upper_bound(begin);
  for (uint64_t reached = begin; cell != whole_.begin() && edges.first.size() < count;) {
    --cell;
    if (cell->second.end < reached)
      break;
    reached = cell->first;
    if (reached < begin)
      edges.first.push_back(reached);
  }
  uint64_t reached = end;
  for (cell = whole_.lower_bound(begin); cell != whole_.end() && edges.second.size() < count; ++cell) {
    if (cell->first > reached)
      break;
    if (cell->second.end > end)
      edges.second.push_back(cell->second.end);
    reached = std::max(reached, cell->second.end);
  }
  return edges;
}

Content MemoryContents::readShare(const ShareLayout &layout, uint64_t begin, uint64_t end, bool *hasParts,
                                  std::vector<Piece> *wholes) const {
  Content content;
  auto ofWhole = [&](uint64_t from, uint64_t to) {
    bool met = false;
    forEachMet(own_, &layout, from, to, [&](auto &&...) { met = true; });
    *hasParts |= met;
    Content whole = readWhole(from, to + (layout.ranks - 1) * layout.stride);
    if (wholes)
      wholes->insert(wholes->end(), whole.pieces().begin(), whole.pieces().end());
    content.append(met ? Content::of(kNoValue, to - from)
                       : whole.shareOf(layout.group, layout.axes, layout.ranks, layout.stride));
  };
  // `content` holds the share up to `begin`. Own parts are added as they are. The bytes between them are a share of the
  // whole.
  if (auto known = own_.find(layout); known != own_.end()) {
    const Cells &cells = known->second;
    auto cell = cells.upper_bound(begin);
    if (cell != cells.begin() && std::prev(cell)->second.end > begin)
      --cell;
    for (; cell != cells.end() && cell->first < end; ++cell) {
      if (cell->first > begin) {
        ofWhole(begin, cell->first);
        begin = cell->first;
      }
      Piece piece = skip(cell->second.piece, begin - cell->first);
      piece.bytes = std::min(end, cell->second.end) - begin;
      content.append(piece);
      begin += piece.bytes;
    }
  }
  if (begin < end)
    ofWhole(begin, end);
  return content;
}

// Ends own parts of which bytes are written otherwise. The rest of such a part belongs to no value, on any rank.
// For example, with a stride of 8 and two ranks, u is written to the share [0, 4), and then v to [9, 10) on every rank.
// Byte 8 now belongs to u on the second rank, and has its older value on the first one.
void MemoryContents::endShares(const ShareLayout *layout, uint64_t begin, uint64_t end) {
  constexpr uint64_t kManyRanks = 4096; // with more, all bytes between the first part and the last are given up
  forEachMet(own_, layout, begin, end, [&](const ShareLayout &other, Cells &cells, Cells::iterator part) {
    uint64_t from = part->first, to = part->second.end, reach = (other.ranks - 1) * other.stride;
    if (to - from == other.stride || other.ranks > kManyRanks)
      erase(whole_, from, to + reach);
    else
      for (uint64_t shift = 0; shift <= reach; shift += other.stride)
        erase(whole_, from + shift, to + shift);
    cells.erase(part);
  });
}

void MemoryContents::write(uint64_t begin, const Content &content) {
  if (content.bytes() == 0)
    return;
  endShares(nullptr, begin, begin + content.bytes());
  put(whole_, begin, content);
}

void MemoryContents::writeShare(const ShareLayout &layout, uint64_t begin, const Content &content) {
  if (content.bytes() == 0)
    return;
  endShares(&layout, begin, begin + content.bytes());
  put(own_[layout], begin, content);
}

void MemoryContents::forget(uint64_t begin, uint64_t end) {
  if (begin == end)
    return;
  endShares(nullptr, begin, end);
  erase(whole_, begin, end);
}

} // namespace cleave::plan
