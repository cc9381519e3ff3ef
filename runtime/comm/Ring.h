// The ring algorithms of Instructions.def (Patarasuk & Yuan 2009), over any transport.
//
// With N ranks the data is N chunks; in each of N-1 steps every rank sends one chunk to the next rank and receives
// one from the previous. Reduce-scatter: chunk c starts at rank c+1 and is added to at c+2, ..., c, where it ends.
// All-gather: chunk c starts at rank c and travels once around. An all-reduce is one after the other. Each rank
// sends (N-1)/N of the data per phase, and the order of summation is fixed.
//
// Reduce: a reduce-scatter, after which each rank brings its chunk to the root (Rabenseifner 2004). The sums are those
// of an all-reduce, bit for bit; the root sends (N-1)/N of the data, each other rank all of it.
//
// Broadcast: the root gives each rank that rank's chunk and its own; the ranks but the root then pass theirs around
// (after van de Geijn's scatter and all-gather; here the root, which has all, receives nothing, so that others may read
// its data meanwhile). The root sends 2(N-1)/N of the data, each other rank (N-2)/N; together no byte is sent twice to
// one rank.
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
// `root` is an index in the group. The others' data mean nothing after a reduce.
Status ringReduce(Communicator &comm, const Group &group, unsigned channel, const RingData &ring, int root);
Status ringBroadcast(Communicator &comm, const Group &group, unsigned channel, const RingData &ring, int root);

} // namespace cleave::rt

#endif
