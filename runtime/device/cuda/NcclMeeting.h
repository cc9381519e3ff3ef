// How processes that no MPI has started come together: NCCL itself tells the others the id that its rank 0 has made.
//
// NCCL_COMM_ID is the address at which rank 0 listens then. NCCL reads it from the environment: each rank when it asks
// for an id, and rank 0 once more when it joins. Where the user has not set it, open() sets it to the meeting point
// (Launcher.h), which under torchrun is MASTER_ADDR and the port after MASTER_PORT: torchrun's agent has MASTER_PORT
// itself (TORCHELASTIC_USE_AGENT_STORE).
//
// *Invariant:* the variable is set only while this process has one thread. setenv() beside a thread that reads the
// environment is a race. A program that has other threads is told which variable to set before it starts. It stays set:
// NCCL has threads of its own from then on. A later session of the process meets at the same address.
//
// Ranks come in any order. NCCL's tries to reach a rank 0 that does not listen yet end after about 20 s (before 2.24)
// or 60 s, with ncclRemoteError; they are repeated until the caller says that it is over.
//
// Rejected: to tell the id by a socket of ours. It is a network protocol to look after, and NCCL has one.
// Rejected: to start the program once more with the variable set. A library cannot, and it is a second start.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLMEETING_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLMEETING_H

#include "runtime/comm/Launcher.h"
#include "runtime/device/cuda/Driver.h"

#include <functional>
#include <string>

namespace cleave::rt {

class NcclMeeting {
public:
  NcclMeeting(const MeetingPoint &point, int rank, int size) : point_(point), rank_(rank), size_(size) {}

  // Before anything of this process makes a thread.
  Status open() const;
  // Makes the communicator of all; waits without a limit inside of NCCL. Between NCCL's tries, `isOver` is asked, and
  // `say` is told what is waited for.
  Status join(const cuda::Nccl &nccl, const std::function<bool()> &isOver,
              const std::function<void(const std::string &)> &say, cuda::Handle *comm) const;
  // Whom a rank waits for, for messages.
  std::string awaited() const;

private:
  Status explain(cuda::Result result, Status status) const;

  const MeetingPoint &point_;
  const int rank_, size_;
};

} // namespace cleave::rt

#endif
