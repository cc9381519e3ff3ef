// Which function makes which host kernel. A table rather than objects that register themselves: the linker drops
// those from static archives.
#ifndef CLEAVE_KERNELS_COMMON_HOST_REGISTRY_H
#define CLEAVE_KERNELS_COMMON_HOST_REGISTRY_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

// Null when the host has no implementation.
MakeHostKernel findHostKernel(std::string_view name);

} // namespace cleave::rt

#endif
