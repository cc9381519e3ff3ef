// Pooling and its gradients on the host. Planes (one sample, one channel) are independent, and are divided among
// threads. The order within a plane is fixed, so results do not depend on the number of threads.
#ifndef CLEAVE_KERNELS_POOLING_HOST_POOLING_H
#define CLEAVE_KERNELS_POOLING_HOST_POOLING_H

#include "kernels/common/host/HostKernel.h"

namespace cleave::rt {

Status makeMaxPool(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeMaxPoolGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeAvgPool(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);
Status makeAvgPoolGrad(const KernelArgs &args, int threads, std::unique_ptr<HostKernel> *result);

} // namespace cleave::rt

#endif
