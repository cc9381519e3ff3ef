// When the bytes of an allocation are in use, in positions of the issue order.
//
// On one stream, from its first use to its last. A use on another stream begins when that stream last waited for the
// first stream, and ends when the first stream next waits for it, by itself or through a third one: in between nobody
// knows how far it is.
//
//   0 compute w A   1 compute record 0   2 reduce wait 0   3 reduce rw A   4 reduce record 1   5 compute …   6 compute
//   wait 1 span of A: [0, 6]; instruction 5 must not reuse its bytes
//
// Two uses of one stream are ordered by it alone. So an allocation whose uses all end before its last one, on some
// stream, may hand its bytes to an allocation that begins after it on that stream (a buffer that is copied out, and
// the next one copied in), wherever the first stream is.
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

// Positions, both included.
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

// One span for each allocation; none for an allocation that no instruction uses. `instructions` must be synchronized.
std::vector<std::optional<Span>> liveSpans(const std::vector<DraftInstruction> &instructions, size_t allocations);

} // namespace cleave::plan

#endif
