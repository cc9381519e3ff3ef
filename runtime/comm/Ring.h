// The ring algorithms of Instructions.def (Patarasuk & Yuan 2009), over any transport.
//
// With N ranks the data is N chunks; in each of N-1 steps every rank sends one chunk to the next rank and receives
// one from the previous. Reduce-scatter: chunk c starts at rank c+1 and is added to at c+2, ..., c, where it ends.
// All-gather: chunk c starts at rank c and travels once around. An all-reduce is one after the other. Each rank
// sends (N-1)/N of the data per phase, and the order of summation is fixed.
#ifndef CLEAVE_RUNTIME_COMM_RING_H
#define CLEAVE_RUNTIME_COMM_RING_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Group.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

struct RingData {
  std::byte *data;    // `count` elements
  std::byte *staging; // count / N elements; not used by allGather
  size_t count;       // a multiple of N
  fb::DType dtype;
  Reduction reduction = Reduction::Sum;
};

Status ringReduceScatter(Communicator &comm, const Group &group, unsigned channel, const RingData &ring);
Status ringAllGather(Communicator &comm, const Group &group, unsigned channel, const RingData &ring);
Status ringAllReduce(Communicator &comm, const Group &group, unsigned channel, const RingData &ring);

} // namespace cleave::rt

#endif
