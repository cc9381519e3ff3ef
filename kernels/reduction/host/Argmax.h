// The first position of the maximum along a dimension, as i64. A NaN counts as the maximum, as in PyTorch.
#ifndef CLEAVE_KERNELS_REDUCTION_HOST_ARGMAX_H
#define CLEAVE_KERNELS_REDUCTION_HOST_ARGMAX_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

Status makeArgmax(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif
