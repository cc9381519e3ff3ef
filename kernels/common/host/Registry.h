// The table of the host's kernels: names and functions that make them. It is a table because the linker would drop
// objects that register themselves from static archives.
#ifndef CLEAVE_KERNELS_COMMON_HOST_REGISTRY_H
#define CLEAVE_KERNELS_COMMON_HOST_REGISTRY_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

// Null if the host has no such kernel.
MakeHostKernel findHostKernel(std::string_view name);

} // namespace cleave::rt

#endif
