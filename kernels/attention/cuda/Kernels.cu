// Attention's kernels as entries of a module of their own: NAME_TYPE, or NAME_TYPE_SIZE for 16-bit types, each with a
// CudaCall as its parameter. The names are made again in kernels/common/cuda/CudaKernel.cpp.
#include "kernels/attention/cuda/AttentionMma.cuh"

using namespace cleave::rt;

#define ENTRY(name, ...)                                                                                               \
  extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ CudaCall call) { __VA_ARGS__(call); }
#define NARROW(name, type, size)                                                                                       \
  ENTRY(attention_##name##_##size, attentionMma<type, size>)                                                           \
  ENTRY(attention_grad_##name##_##size, attentionGradMma<type, size>)

ENTRY(attention_f32, attention<float>)
ENTRY(attention_grad_f32, attentionGrad<float>)
NARROW(f16, __half, 64)
NARROW(f16, __half, 128)
NARROW(bf16, __nv_bfloat16, 64)
NARROW(bf16, __nv_bfloat16, 128)
