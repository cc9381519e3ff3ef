// Kernel launches on the host: generated machine code, and the kernels of Kernels.def.
#ifndef CLEAVE_RUNTIME_DEVICE_HOST_HOSTLAUNCH_H
#define CLEAVE_RUNTIME_DEVICE_HOST_HOSTLAUNCH_H

#include "kernels/common/host/HostKernel.h"
#include "runtime/device/Device.h"

#include <memory>
#include <unordered_map>

namespace cleave::rt {

// Machine code emitted beside the plan, cut over `threads` threads by its outermost loop.
Status bindGenerated(const LaunchRequest &request, int threads, ActionPtr *action);

// Keeps the host's kernels to the instructions of the plan's target (HostKernel.h), if the program has any.
void keepHostKernelsTo(std::string_view target);

// The library and built-in kernels that one thread launches. All launches of a kernel share it: a primitive takes
// kilobytes, and a deep model launches the same one for every layer.
using NamedKernels = std::unordered_map<const fb::Kernel *, std::shared_ptr<HostKernel>>;
// Checks that every operand is as large as the kernel touches.
Status bindNamed(const LaunchRequest &request, int threads, NamedKernels &kernels, ActionPtr *action);

} // namespace cleave::rt

#endif
