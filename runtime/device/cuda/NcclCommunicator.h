// The processes of a CUDA program that were not started by MPI (torchrun, srun without a plug-in, a script), joined by
// NCCL alone: what the hosts say to each other goes by way of the GPUs, too.
//
// Rank 0 makes NCCL's id, and NCCL tells it to the others at NCCL_COMM_ID (NcclMeeting.h); ncclCommInitRank() connects
// all. The GPUs' own communicators (NcclWorld.h) are split from this one. Processes may start in any order: who comes
// before rank 0 tries again until the time is over.
//
// An exchange is a first block of fixed size, with the channel, the number of bytes and as many of them as fit, and
// then pieces (NcclExchange.h). NCCL does not look at what it carries; the block shows ranks whose plans disagree.
//
// *Order.* NCCL's kernels that start in different orders on different GPUs can wait for each other for ever. So all
// that a process communicates is in line: this communicator serves one thread at a time, the one that runs programs,
// and on it all channels are one. That thread exchanges nothing while a program runs whose GPUs talk by NCCL (each run
// is waited for), and with CLEAVE_CUDA_COMM=host in the plan's issue order, which was proved to end on one thread. All
// ranks make the same calls of a session in the same order, as under MPI. What else would exchange beside a program, a
// checkpoint's thread, asks servesThreads() and does its work before the program goes on. Calls of a second thread are
// refused.
//
// *Lost peers.* A PeerMonitor without beats (they would be a second thread's messages) sees processes of this machine
// that have died. A watchdog thread looks for that, for errors that NCCL tells, which is how processes of other
// machines are missed, and for waits of more than CLEAVE_COMM_TIMEOUT_S; then it aborts the communicator, which ends
// what waits in NCCL's calls and on the GPU. Who fails aborts likewise, and ends: the others miss it.
//
// *Order of destruction.* Who has this object destroys the devices of the session first: their watchdogs ask it for its
// health. The destructor takes leave, then ends the monitor, then the watchdog, which alone aborts, then frees the
// communicator (NcclComms.h), then the stream and the memory of exchanges. An object whose thread was left behind in
// NCCL is never destroyed; the process may end meanwhile, since the libraries' tables are not destroyed either
// (Library.cpp).
//
// NCCL refuses two processes on one GPU. It has run on the emulated device only (test/cuda/emulated).
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLCOMMUNICATOR_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"
#include "runtime/device/cuda/NcclComms.h"

#include <memory>
#include <string>

namespace cleave::rt {

// Meets the others; once at a time in a process, and not again after one was lost. `target` is the plan's. May set
// NCCL_COMM_ID, where this process has one thread (NcclMeeting.h).
Status createNcclCommunicator(const std::string &target, const ProcessPlace &place, const MeetingPoint &point,
                              std::unique_ptr<Communicator> *result);

// The communicator of NCCL that `host` talks by, which may have been aborted; null where it is of another transport.
std::shared_ptr<NcclComms> ncclCommsOf(const Communicator &host);

} // namespace cleave::rt

#endif
