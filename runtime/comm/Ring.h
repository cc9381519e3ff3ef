// The ring algorithms of Instructions.def (Patarasuk & Yuan 2009), over any transport.
//
// With N ranks the data has N chunks. In each of N-1 steps, every rank sends one chunk to the next rank and receives
// one from the previous rank. In a reduce-scatter, chunk c starts at rank c+1. Ranks c+2, ..., c add to it, and it ends
// at rank c. In an all-gather, chunk c starts at rank c and goes once around. An all-reduce is a reduce-scatter and
// then an all-gather. Each rank sends (N-1)/N of the data in each phase, and the order of summation is fixed.
//
// Reduce: a reduce-scatter; then each rank sends its chunk to the root (Rabenseifner 2004). The sums are those of an
// all-reduce, bit for bit. The root sends (N-1)/N of the data, and every other rank sends all of it.
//
// Broadcast: the root sends each rank two chunks: that rank's and its own. Then all ranks except the root pass their
// chunks around (after van de Geijn's scatter and all-gather; but the root, which has all data, receives nothing, so
// others may read its data meanwhile). The root sends 2(N-1)/N of the data, and every other rank sends (N-2)/N. No byte
// is sent to a rank twice.
//
//   N = 4, root 0      0 -> 1: chunks 0 1     0 -> 2: chunks 0 2     0 -> 3: chunks 0 3     1 -> 2 -> 3 -> 1, twice
#ifndef CLEAVE_RUNTIME_COMM_RING_H
#define CLEAVE_RUNTIME_COMM_RING_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Group.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

struct RingData {
  std::byte *data;    // `count` elements
  std::byte *staging; // count / N elements; for reductions
  size_t count;       // a multiple of N
  fb::DType dtype;
  Reduction reduction = Reduction::Sum;
};

Status ringReduceScatter(Communicator &comm, const Group &group, unsigned channel, const RingData &ring);
Status ringAllGather(Communicator &comm, const Group &group, unsigned channel, const RingData &ring);
Status ringAllReduce(Communicator &comm, const Group &group, unsigned channel, const RingData &ring);
// `root` is an index in the group. After a reduce, the data of the other ranks is undefined.
Status ringReduce(Communicator &comm, const Group &group, unsigned channel, const RingData &ring, int root);
Status ringBroadcast(Communicator &comm, const Group &group, unsigned channel, const RingData &ring, int root);

} // namespace cleave::rt

#endif
