// Ranks as processes that torchrun, srun or a script has started, and that talk over TCP.
//
// For hosts and for GPUs: NCCL's ids, errors and checkpoints go this way, and for programs of hosts all data. MPI is
// faster between hosts: it has shared memory, and networks other than TCP. The sums are the same bits.
#ifndef CLEAVE_RUNTIME_COMM_TCPCOMMUNICATOR_H
#define CLEAVE_RUNTIME_COMM_TCPCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"

#include <memory>

namespace cleave::rt {

// Meets the others (TcpMeeting.h), which is possible again after the result is destroyed.
Status createTcpCommunicator(const TcpPlace &place, std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
