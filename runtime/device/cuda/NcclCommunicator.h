// Connects the processes of a CUDA program that MPI has not started (torchrun, srun without a plug-in, a script). It
// uses only NCCL, so messages between the hosts go through the GPUs too.
//
// Rank 0 makes NCCL's id, and NCCL passes it to the others at NCCL_COMM_ID (NcclMeeting.h). ncclCommInitRank() connects
// all. The communicators of the GPUs (NcclWorld.h) are split from this one. Processes may start in any order: one that
// starts before rank 0 tries again until the time limit.
//
// An exchange begins with a block of fixed size: the channel, the number of bytes, and as many of the bytes as fit.
// Pieces with the rest follow (NcclExchange.h). NCCL does not check what it carries, but the block shows if the plans
// of ranks disagree.
//
// *Order.* If NCCL's kernels start in different orders on different GPUs, they can wait for each other for ever. So all
// communication of a process has one order. This communicator serves one thread at a time, the one that runs programs,
// and all its channels have one order. If the GPUs of a program communicate by NCCL, this thread exchanges nothing
// while the program runs (it waits for the end of each run). With CLEAVE_CUDA_COMM=host it exchanges in the plan's
// issue order, for which it was proved that one thread comes to the end. As under MPI, all ranks make the same calls of
// a session in the same order. Other code that would exchange while a program runs, such as the thread of a checkpoint,
// asks servesThreads(), and does its work before the program goes on. Calls by a second thread are refused.
//
// *Lost peers.* A PeerMonitor finds processes of this machine that have died. It sends no beats, because a second
// thread would send them. A watchdog thread asks the monitor, looks for errors that NCCL reports (so it finds lost
// processes of other machines), and for waits of more than CLEAVE_COMM_TIMEOUT_S. If it finds one, it aborts the
// communicator. That ends all waits in NCCL's calls and on the GPU. A process that fails aborts in the same way, and
// ends. The others notice that it is gone.
//
// *Order of destruction.* The owner of this object first destroys the devices of the session, because their watchdogs
// ask this object for its health. The destructor agrees with the other ranks to leave. Then it ends the monitor, then
// the watchdog (only the watchdog aborts before this point). Then it frees the communicator (NcclComms.h), then the
// stream and the memory of exchanges. If a thread was left behind in NCCL, the object is never destroyed. The process
// may end nevertheless, because the tables of the libraries are not destroyed either (Library.cpp).
//
// NCCL refuses two processes on one GPU. This code has run only on the emulated device (test/cuda/emulated).
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_NCCLCOMMUNICATOR_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_NCCLCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"
#include "runtime/device/cuda/NcclComms.h"

#include <memory>
#include <string>

namespace cleave::rt {

// Connects to the others. Only one communicator may exist at a time in a process, and none after a rank was lost.
// `target` is the plan's target. May set NCCL_COMM_ID if this process has only one thread (NcclMeeting.h).
Status createNcclCommunicator(const std::string &target, const LauncherRank &launched, const MeetingPoint &point,
                              std::unique_ptr<Communicator> *result);

// Returns the NCCL communicator of `host`, which may have been aborted. Null if `host` uses another transport.
std::shared_ptr<NcclComms> ncclCommsOf(const Communicator &host);

} // namespace cleave::rt

#endif
