// How ranks connect that are processes of their own and were not started by MPI. GPUs can connect by NCCL alone; hosts
// need MPI.
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICEMEETING_H
#define CLEAVE_RUNTIME_DEVICE_DEVICEMEETING_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"

#include <memory>
#include <string>

namespace cleave::rt {

// True if devices of this target can connect without MPI.
bool devicesMeetAlone(const std::string &target);
// Connects to the other ranks, if the devices can. Waits for them for at most CLEAVE_COMM_TIMEOUT_S. NCCL itself may
// give up sooner if rank 0 does not listen yet (NCCL_SOCKET_RETRY_CNT).
Status createDeviceCommunicator(const std::string &target, const LauncherRank &launched,
                                std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
