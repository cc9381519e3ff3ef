#include "runtime/comm/Ring.h"

#include "runtime/comm/Reduce.h"
#include "runtime/plan/KernelDefs.h"

namespace cleave::rt {

namespace {

// A rank's position in the ring, and its chunks.
struct Ring {
  Ring(const Group &group, const RingData &ring)
      : ranks(group.size()), index(group.index), next(group.members[(index + 1) % ranks]),
        previous(group.members[(index + ranks - 1) % ranks]), elements(ring.count / static_cast<size_t>(ranks)),
        bytes(elements * dtypeSize(ring.dtype)), data(ring.data) {}

  // `number` is taken modulo N. It may be as low as -2N.
  std::byte *chunk(int number) const { return data + static_cast<size_t>((number + 2 * ranks) % ranks) * bytes; }

  Exchange step(unsigned channel, const std::byte *outgoing, std::byte *incoming) const {
    Exchange step;
    step.to = next;
    step.sendData = outgoing;
    step.sendBytes = bytes;
    step.from = previous;
    step.receiveData = incoming;
    step.receiveBytes = bytes;
    step.channel = channel;
    return step;
  }

  int ranks, index, next, previous;
  size_t elements, bytes;
  std::byte *data;
};

} // namespace

Status ringReduceScatter(Communicator &comm, const Group &group, unsigned channel, const RingData &ringData) {
  Ring ring(group, ringData);
  for (int s = 0; s + 1 < ring.ranks; ++s) {
    CLEAVE_TRY(comm.exchange(ring.step(channel, ring.chunk(ring.index - 1 - s), ringData.staging)));
    CLEAVE_TRY(reduceInto(ringData.dtype, ringData.reduction, ringData.staging, ring.chunk(ring.index - 2 - s),
                          ring.elements));
  }
  return Status::ok();
}

Status ringAllGather(Communicator &comm, const Group &group, unsigned channel, const RingData &ringData) {
  Ring ring(group, ringData);
  for (int s = 0; s + 1 < ring.ranks; ++s)
    CLEAVE_TRY(comm.exchange(ring.step(channel, ring.chunk(ring.index - s), ring.chunk(ring.index - 1 - s))));
  return Status::ok();
}

Status ringAllReduce(Communicator &comm, const Group &group, unsigned channel, const RingData &ring) {
  CLEAVE_TRY(ringReduceScatter(comm, group, channel, ring));
  return ringAllGather(comm, group, channel, ring);
}

Status ringReduce(Communicator &comm, const Group &group, unsigned channel, const RingData &ringData, int root) {
  CLEAVE_TRY(ringReduceScatter(comm, group, channel, ringData));
  Ring ring(group, ringData);
  if (ring.index != root)
    return comm.send(group.members[root], ring.chunk(ring.index), ring.bytes, channel);
  for (int other = 0; other < ring.ranks; ++other)
    if (other != root)
      CLEAVE_TRY(comm.receive(group.members[other], ring.chunk(other), ring.bytes, channel));
  return Status::ok();
}

namespace {

Status serve(Communicator &comm, const Group &group, unsigned channel, const Ring &ring) {
  for (int s = 1; s < ring.ranks; ++s) {
    int other = (ring.index + s) % ring.ranks;
    for (int chunk : {ring.index, other})
      CLEAVE_TRY(comm.send(group.members[other], ring.chunk(chunk), ring.bytes, channel));
  }
  return Status::ok();
}

} // namespace

Status ringBroadcast(Communicator &comm, const Group &group, unsigned channel, const RingData &ringData, int root) {
  Ring ring(group, ringData);
  if (ring.index == root)
    return serve(comm, group, channel, ring);
  for (int chunk : {root, ring.index})
    CLEAVE_TRY(comm.receive(group.members[root], ring.chunk(chunk), ring.bytes, channel));
  // The ring of the ranks other than the root: position p is index root + 1 + p.
  int others = ring.ranks - 1, place = (ring.index - root - 1 + ring.ranks) % ring.ranks;
  auto at = [&](int p) { return (root + 1 + (p + 2 * others) % others) % ring.ranks; };
  for (int s = 0; s + 1 < others; ++s) {
    Exchange step = ring.step(channel, ring.chunk(at(place - s)), ring.chunk(at(place - 1 - s)));
    step.to = group.members[at(place + 1)];
    step.from = group.members[at(place - 1)];
    CLEAVE_TRY(comm.exchange(step));
  }
  return Status::ok();
}

} // namespace cleave::rt
