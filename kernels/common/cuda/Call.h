// The one parameter of every hand-written CUDA kernel: what the host passes (CudaKernel.cpp) and the kernel reads
// (Device.cuh). The meaning of `params` is each family's.
#ifndef CLEAVE_KERNELS_COMMON_CUDA_CALL_H
#define CLEAVE_KERNELS_COMMON_CUDA_CALL_H

namespace cleave::rt {

struct CudaCall {
  static constexpr int kBuffers = 16, kParams = 32;
  void *buffers[kBuffers]; // in the order of Kernels.def
  long long params[kParams];
  // Two numbers on the device: the launch that found an index out of range first (0: none), and the index.
  long long *error;
  long long launch; // this one's number, from 1
};

} // namespace cleave::rt

#endif
