// The channel of a send or a receive. The messages of a channel have one order: its n-th send meets its n-th receive.
//
//   plan.send axis = pp, offset = 1, channel = 0 of rank pp=0, and
//   plan.recv axis = pp, offset = 1, channel = 0 of rank pp=1      are on {pp, 1, 0}
//
// It orders both the graph of an entry (EntryGraph.h) and the messages of bodies (Bodies.h).
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_TRANSFERCHANNEL_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_TRANSFERCHANNEL_H

#include "compiler/Planning/Verify/Facts/Meaning.h"

#include "llvm/ADT/bit.h"

#include <tuple>

namespace cleave::plan {

// The messages from each rank to the one `offset` further on along an axis.
struct TransferChannel {
  AxisMask axis;   // one bit
  uint64_t offset; // to the receiver, not negative
  int64_t channel;

  static TransferChannel of(const TransferFacts &facts) {
    return {facts.axis.axes, static_cast<uint64_t>(facts.offset), facts.channel};
  }
  uint32_t axisIndex() const { return static_cast<uint32_t>(llvm::countr_zero(axis)); }
  bool operator<(const TransferChannel &other) const {
    return std::tie(axis, offset, channel) < std::tie(other.axis, other.offset, other.channel);
  }
};

} // namespace cleave::plan

#endif
