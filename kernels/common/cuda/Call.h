// The one parameter of every hand-written CUDA kernel. The host fills it (CudaKernel.cpp), and the kernel reads it
// (Device.cuh). Each family gives `params` its own meaning.
#ifndef CLEAVE_KERNELS_COMMON_CUDA_CALL_H
#define CLEAVE_KERNELS_COMMON_CUDA_CALL_H

namespace cleave::rt {

struct CudaCall {
  static constexpr int kBuffers = 16, kParams = 32;
  void *buffers[kBuffers]; // in the order of Kernels.def
  long long params[kParams];
  // Two numbers on the device: the launch that was the first to find an index out of range (0: none), and this index.
  long long *error;
  long long launch; // the number of this launch, from 1
};

} // namespace cleave::rt

#endif
