// Kernel launches on the host: generated machine code, and the kernels of Kernels.def.
#ifndef CLEAVE_RUNTIME_DEVICE_HOST_HOSTLAUNCH_H
#define CLEAVE_RUNTIME_DEVICE_HOST_HOSTLAUNCH_H

#include "runtime/device/Device.h"

namespace cleave::rt {

// Machine code emitted beside the plan, cut over `threads` threads by its outermost loop.
Status bindGenerated(const LaunchRequest &request, int threads, ActionPtr *action);
// A library or built-in kernel; checks that every operand is as large as the kernel touches.
Status bindNamed(const LaunchRequest &request, int threads, ActionPtr *action);

} // namespace cleave::rt

#endif
