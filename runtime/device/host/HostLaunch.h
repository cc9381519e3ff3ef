// Kernel launches on the host: generated machine code, and the kernels of Kernels.def.
#ifndef CLEAVE_RUNTIME_DEVICE_HOST_HOSTLAUNCH_H
#define CLEAVE_RUNTIME_DEVICE_HOST_HOSTLAUNCH_H

#include "kernels/common/host/HostKernel.h"
#include "runtime/device/Device.h"

#include <memory>
#include <unordered_map>

namespace cleave::rt {

// Binds machine code that was emitted with the plan. `threads` threads split its outermost loop.
Status bindGenerated(const LaunchRequest &request, int threads, ActionPtr *action);

// Restricts the host's kernels to the instructions of the plan's target (HostKernel.h), if the program has any kernels.
void keepHostKernelsTo(std::string_view target);

// The library and built-in kernels that one thread launches. All launches of a kernel share one object: a primitive
// needs kilobytes, and a deep model launches the same one for every layer.
using NamedKernels = std::unordered_map<const fb::Kernel *, std::shared_ptr<HostKernel>>;
// Fails if an operand is smaller than what the kernel touches.
Status bindNamed(const LaunchRequest &request, int threads, NamedKernels &kernels, ActionPtr *action);

} // namespace cleave::rt

#endif
