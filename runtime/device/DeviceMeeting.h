// How ranks meet that are processes of their own and were not started by MPI: GPUs can by themselves (by NCCL), a host
// needs MPI.
#ifndef CLEAVE_RUNTIME_DEVICE_DEVICEMEETING_H
#define CLEAVE_RUNTIME_DEVICE_DEVICEMEETING_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"

#include <memory>
#include <string>

namespace cleave::rt {

// Whether devices of a plan's target can meet so.
bool devicesMeetAlone(const std::string &target);
// Meets the others where they can; waits for them as long as CLEAVE_COMM_TIMEOUT_S says. NCCL itself may
// give up sooner on a rank 0 that does not listen yet (NCCL_SOCKET_RETRY_CNT).
Status createDeviceCommunicator(const std::string &target, const ProcessPlace &place,
                                std::unique_ptr<Communicator> *result);

} // namespace cleave::rt

#endif
