// How processes connect that MPI has not started: rank 0 makes an id, and NCCL itself passes it to the other ranks.
//
// NCCL_COMM_ID is the address at which rank 0 then listens. NCCL reads it from the environment: on each rank when it
// asks for an id, and on rank 0 once more when it joins. If the user has not set it, open() sets it to the meeting
// point (Launcher.h). Under torchrun that is MASTER_ADDR and the port after MASTER_PORT, because torchrun's agent uses
// MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE).
//
// *Invariant:* the variable is set only while this process has one thread, because setenv() races with other threads
// that read the environment. A program that has other threads gets an error that names the variable to set before it
// starts. The variable stays set, because NCCL has threads of its own from then on. A later session of the process uses
// the same address.
//
// Ranks may start in any order. If rank 0 does not listen yet, NCCL's attempts to reach it end with ncclRemoteError
// after about 20 s (before 2.24) or 60 s. They are repeated until the caller ends them.
//
// Rejected: passing the id by a socket of our own. It would be a network protocol to maintain, and NCCL has one.
// Rejected: starting the program again with the variable set. A library cannot do that, and the program would start
// twice.
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

  // Must be called before this process has more than one thread.
  Status open() const;
  // Makes the communicator of all ranks. NCCL waits in it without a limit. Between NCCL's attempts, it asks `isOver`
  // whether to end, and passes `say` a text about what it waits for.
  Status join(const cuda::Nccl &nccl, const std::function<bool()> &isOver,
              const std::function<void(const std::string &)> &say, cuda::Handle *comm) const;
  // The ranks that this one waits for, for messages.
  std::string awaited() const;

private:
  Status explain(cuda::Result result, Status status) const;

  const MeetingPoint &point_;
  const int rank_, size_;
};

} // namespace cleave::rt

#endif
