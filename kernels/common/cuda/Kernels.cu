// All hand-written CUDA kernels except attention, as entries of one module. An entry is named NAME_TYPE or
// NAME_TYPE_INDEX, and its parameter is a CudaCall. kernels/common/cuda/CudaKernel.cpp builds the same names.
#include "kernels/convolution/cuda/Convolution.cuh"
#include "kernels/indexing/cuda/Indexing.cuh"
#include "kernels/indexing/cuda/PutAdd.cuh"
#include "kernels/pooling/cuda/Pooling.cuh"
#include "kernels/reduction/cuda/Argmax.cuh"
#include "kernels/reduction/cuda/ColumnSums.cuh"
#include "kernels/reduction/cuda/TopK.cuh"

using namespace cleave::rt;

#define ENTRY(name, ...)                                                                                               \
  extern "C" __global__ void __launch_bounds__(CudaCall::kBlockSize)                                                   \
  name(const __grid_constant__ CudaCall call) { __VA_ARGS__(call); }
// For kernels that ptxas would limit to 32 or 64 registers, so that more blocks run at a time, and that would spill
// then.
#define ROOMY(name, ...)                                                                                               \
  extern "C" __global__ void __launch_bounds__(CudaCall::kBlockSize, 1)                                                \
  name(const __grid_constant__ CudaCall call) {                                                                        \
    __VA_ARGS__(call);                                                                                                 \
  }
// For kernels that wait for memory. Their number of blocks in CudaKernel.cpp gives each multiprocessor three.
#define THREEFOLD(name, ...)                                                                                           \
  extern "C" __global__ void __launch_bounds__(CudaCall::kBlockSize, 3)                                                \
  name(const __grid_constant__ CudaCall call) {                                                                        \
    __VA_ARGS__(call);                                                                                                 \
  }

#define INDEXED(name, type, ...)                                                                                       \
  ENTRY(name##_i32, __VA_ARGS__<type, int>)                                                                            \
  ENTRY(name##_i64, __VA_ARGS__<type, long long>)
// For kernels that move elements, by the element's bytes.
#define MOVED(name, function) INDEXED(name##_1, unsigned char, function) INDEXED(name##_2, unsigned short, function) \
  INDEXED(name##_4, unsigned, function) INDEXED(name##_8, unsigned long long, function)
MOVED(take, take)

MOVED(put_set, putSet)

// For elements of any number type: those of isNumber in CudaKernel.cpp.
#define NUMBER(name, type)                                                                                             \
  INDEXED(put_##name, type, put)                                                                                       \
  ENTRY(argmax_##name, argmax<type>)                                                                                   \
  ENTRY(top_k_##name, topK<type>)
#define FLOATING(name, type)                                                                                           \
  NUMBER(name, type)                                                                                                   \
  THREEFOLD(put_add_##name, putAdd<type>)                                                                              \
  ENTRY(max_pool_##name, maxPool<type>)                                                                                \
  ROOMY(max_pool_grad_##name, maxPoolGrad<type>)                                                                       \
  ROOMY(avg_pool_##name, averagePool<type>)                                                                            \
  ROOMY(avg_pool_grad_##name, averagePoolGrad<type>)                                                                   \
  ENTRY(convolution_##name, convolution<type>)                                                                         \
  ROOMY(convolution_input_grad_##name, convolutionInputGrad<type>)                                                     \
  ENTRY(convolution_weight_grad_##name, convolutionWeightGrad<type>)
ENTRY(column_sums_f32, columnSums<float>)
ENTRY(column_sums_f16, columnSums<__half>)
ENTRY(column_sums_bf16, columnSums<__nv_bfloat16>)
FLOATING(f32, float)
FLOATING(f64, double)
FLOATING(f16, __half)
FLOATING(bf16, __nv_bfloat16)
ENTRY(check_index_i32, checkIndex<int>)
ENTRY(check_index_i64, checkIndex<long long>)
NUMBER(i8, signed char)
NUMBER(i16, short)
NUMBER(i32, int)
NUMBER(i64, long long)
