#include "compiler/Planning/Verify/Order/MemoryHistory.h"

#include <algorithm>

namespace cleave::plan {

void MemoryHistory::moveOn(int64_t frames, uint64_t since) {
  for (auto &[begin, cell] : cells_)
    if (cell.writer && cell.writer->step > since)
      cell.writer->frame += frames;
}

// The instructions of a stream run in order. So a write that is ordered after the last read of a stream is also ordered
// after its earlier reads.
void MemoryHistory::recordRead(uint64_t begin, uint64_t end, const Moment &moment) {
  auto [first, last] = range(begin, end);
  for (auto cell = first; cell != last; ++cell) {
    std::vector<Moment> &readers = cell->second.readers;
    auto same =
        std::find_if(readers.begin(), readers.end(), [&](const Moment &m) { return m.stream == moment.stream; });
    if (same == readers.end())
      readers.push_back(moment);
    else
      *same = moment;
  }
}

// The writer and the readers before this write can be dropped. Execution::checkWrite() has compared the write with each
// of them, and has reported the races. An access that is ordered after the write is ordered after them, too.
void MemoryHistory::recordWrite(uint64_t begin, uint64_t end, const Moment &moment, AxisMask varies) {
  auto [first, last] = range(begin, end);
  if (first == last)
    return;
  cells_.erase(first, last);
  cells_[begin] = {end, true, {}, varies, moment, {}};
}

void MemoryHistory::recordLoss(uint64_t begin, uint64_t end, const Moment &moment, AxisMask varies) {
  recordWrite(begin, end, moment, varies);
  auto [first, last] = range(begin, end);
  for (auto cell = first; cell != last; ++cell)
    cell->second.initialized = false;
}

// Returns the shares after `written` was written. Of shares of the same group and stride, the bytes outside of
// `written` are left. This is the same on all ranks, because the stride moves both shares by the same number of bytes.
// The part of this rank may lie anywhere in shares of other groups.
static std::vector<ShareRange> afterWrite(const std::vector<ShareRange> &shares, const ShareRange &written) {
  std::vector<ShareRange> left;
  auto keep = [&](ShareRange share, uint64_t begin, uint64_t end) {
    share.begin = begin, share.end = end;
    if (begin < end)
      left.push_back(share);
  };
  for (ShareRange share : shares)
    if (share.group == written.group && share.stride == written.stride) {
      keep(share, share.begin, std::min(share.end, written.begin));
      keep(share, std::max(share.begin, written.end), share.end);
    } else {
      share.varies |= written.varies;
      left.push_back(share);
    }
  left.push_back(written);
  return left;
}

// All cells of [begin, end) get the writer and the share, although a rank writes only its own part of them: one run
// stands for all ranks, and each byte of a share is written on one of them. `initialized` stays as it was, because a
// rank keeps the old bytes outside of its own part.
void MemoryHistory::recordShareWrite(uint64_t begin, uint64_t end, const Moment &moment, const ShareRange &share) {
  auto [first, last] = range(begin, end);
  for (auto cell = first; cell != last; ++cell) {
    cell->second.varies |= share.varies; // the other ranks' bytes stay
    cell->second.writer = moment;
    cell->second.readers.clear();
    cell->second.shares = afterWrite(cell->second.shares, share);
  }
}

// True if shares of the group of `needed` make up [begin, end) of the first rank's bytes.
// Before each turn of the loop, the needed bytes before `begin` are covered. The shares come in the order of their
// first bytes. So if one begins after `begin`, all later ones do too, and the gap remains.
static bool coversRange(std::vector<ShareRange> shares, const ShareRange &needed, uint64_t begin, uint64_t end) {
  std::sort(shares.begin(), shares.end(), [](auto &a, auto &b) { return a.begin < b.begin; });
  for (const ShareRange &share : shares)
    if (share.group == needed.group && share.stride == needed.stride && share.begin <= begin)
      begin = std::max(begin, share.end);
  return begin >= end;
}

bool covers(const MemoryHistory::Cells::value_type &cell, const ShareRange &needed) {
  if (needed.group == 0 || needed.stride == 0)
    return false;
  const std::vector<ShareRange> &shares = cell.second.shares;
  // A cell that is as long as the stride may hold any byte of the share, of one rank or another. A shorter cell meets
  // the shares of at most two neighbouring ranks, because a share is not longer than the stride. Both are moved back to
  // the first rank's bytes. For example, the stride is 16 and the share is [0, 8). That of the next rank is [16, 24).
  // The cell [4, 18) then needs the bytes [4, 8), which the first rank has in it, and [0, 2), which the next one has.
  if (cell.second.end - cell.first >= needed.stride)
    return coversRange(shares, needed, needed.begin, needed.end);
  uint64_t rank = (cell.first - needed.begin) / needed.stride; // the first whose share may reach into the cell
  for (uint64_t shift : {rank * needed.stride, (rank + 1) * needed.stride}) {
    uint64_t begin = std::max(needed.begin, cell.first < shift ? 0 : cell.first - shift);
    uint64_t end = std::min(needed.end, cell.second.end < shift ? 0 : cell.second.end - shift);
    if (begin < end && !coversRange(shares, needed, begin, end))
      return false;
  }
  return true;
}

// Shares were written after the whole. If they cover all needed bytes, none of these bytes is one of the whole.
AxisMask variesOf(const MemoryHistory::Cells::value_type &cell, const ShareRange &needed) {
  if (!covers(cell, needed))
    return cell.second.varies;
  AxisMask varies = 0;
  for (const ShareRange &share : cell.second.shares)
    if (share.group == needed.group && share.stride == needed.stride && share.begin < needed.end &&
        needed.begin < share.end)
      varies |= share.varies;
  return varies;
}

} // namespace cleave::plan
