// Attention's kernels as entries of a module. An entry is named NAME_TYPE, or NAME_TYPE_SIZE for 16-bit types, and its
// parameter is a CudaCall. kernels/common/cuda/CudaKernel.cpp builds the same names. Kernels with dropout are in a
// separate module (DropoutKernels.cu), because a driver always compiles a whole module.
#pragma once

#include "kernels/attention/cuda/Attention.cuh"
#include "kernels/attention/cuda/AttentionGradMma.cuh"

// `blocks`: blocks that run at a time on a multiprocessor, as many as registers allow without spilling. As an
// exception, the gradient of heads of 65 to 128 elements spills some: two sums of 16 lines by 128 and the left operands
// of both products take 192 registers.
#define ENTRY(name, blocks, ...)                                                                                       \
  extern "C" __global__ void __launch_bounds__(CudaCall::kBlockSize, blocks)                                           \
  name(const __grid_constant__ CudaCall call) {                                                                        \
    __VA_ARGS__(call);                                                                                                 \
  }
#define NARROW(name, drops, label, type, size)                                                                         \
  ENTRY(name##_##label##_##size, size == 64 ? 2 : 1, attentionMma<type, size, drops>)                                  \
  ENTRY(name##_grad_##label##_##size, 1, attentionGradMma<type, size, drops>)
#define CLEAVE_ATTENTION_ENTRIES(name, drops)                                                                          \
  ENTRY(name##_f32, 1, attention<float, drops>)                                                                        \
  ENTRY(name##_grad_f32, 1, attentionGrad<float, drops>)                                                               \
  NARROW(name, drops, f16, __half, 64)                                                                                 \
  NARROW(name, drops, f16, __half, 128)                                                                                \
  NARROW(name, drops, bf16, __nv_bfloat16, 64)                                                                         \
  NARROW(name, drops, bf16, __nv_bfloat16, 128)
