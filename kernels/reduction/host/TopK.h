// The positions of the largest (or smallest) elements of a row, best first, as i64. Of equal elements, the one with the
// lower index comes first. NaN is larger than every number, as in PyTorch.
#ifndef CLEAVE_KERNELS_REDUCTION_HOST_TOPK_H
#define CLEAVE_KERNELS_REDUCTION_HOST_TOPK_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

Status makeTopK(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif
