// Finds when the bytes of an allocation are in use, in positions of the issue order.
//
// A use on the compute stream (stream 0) covers its own position. A use on another stream covers more: from the last
// compute instruction that is known to be done before it, to the position where the compute stream next waits for it,
// directly or through a third stream. In between, nobody knows how far the other stream is. An allocation is in use
// from the first to the last position that its uses cover.
//
//   0 compute w A       1 compute record 0   2 reduce wait 0   3 reduce rw A
//   4 reduce record 1   5 compute …          6 compute wait 1
//   The span of A is [0, 6]: instruction 5 must not reuse its bytes.
//
// Uses on the same stream are ordered by that stream. Suppose that all uses of an allocation are known to end before
// its last one, which is on some stream. Then an allocation that begins later on the same stream may take over its
// bytes, wherever the compute stream is. An example is a buffer that is copied out, and the next one that is copied in.
//
// Rejected: spans by list position alone (they are right only for one stream).
#ifndef CLEAVE_COMPILER_PLANNING_DRAFT_LIVENESS_H
#define CLEAVE_COMPILER_PLANNING_DRAFT_LIVENESS_H

#include "compiler/Planning/Draft/Draft.h"

#include <optional>

namespace cleave::plan {

// An instruction that all other uses of an allocation are known to follow, or to precede.
struct StreamPoint {
  unsigned stream = 0;
  size_t at = 0;
};

// The positions at which an allocation is in use, both included.
struct Span {
  size_t first = 0, last = 0;
  std::optional<StreamPoint> begin = {}, end = {};

  bool overlaps(const Span &other) const {
    return first <= other.last && other.first <= last && !endsBefore(other) && !other.endsBefore(*this);
  }

private:
  bool endsBefore(const Span &other) const {
    return end && other.begin && end->stream == other.begin->stream && end->at < other.begin->at;
  }
};

// Returns one span for each allocation; none for an allocation that no instruction uses. `instructions` must be
// synchronized.
std::vector<std::optional<Span>> liveSpans(const std::vector<DraftInstruction> &instructions, size_t allocations);

} // namespace cleave::plan

#endif
