// Kernels with known values, one for each family of instructions. README.md says how the .ptx next to it is made.
#include <cassert>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// One row per block: dynamic shared memory, warp shuffles, barriers.
extern "C" __global__ void __launch_bounds__(256) softmax(const float *__restrict__ x, float *__restrict__ y, int n) {
  __shared__ float warps[8];
  extern __shared__ float row[];
  const float *r = x + (size_t)blockIdx.x * n;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    row[i] = r[i];
    m = fmaxf(m, row[i]);
  }
  for (int o = 16; o; o >>= 1)
    m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = m;
  __syncthreads();
  m = warps[0];
  for (int i = 1; i < 8; i++)
    m = fmaxf(m, warps[i]);
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s += row[i] = __expf(row[i] - m);
  for (int o = 16; o; o >>= 1)
    s += __shfl_down_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; i++)
    s += warps[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[(size_t)blockIdx.x * n + i] = row[i] / s;
}

extern "C" __global__ void scale(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

// The functions of CUDA's maths library, accurate ones and fast ones. Writes 12 results for each element.
extern "C" __global__ void maths(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i], *o = y + 12 * i;
  o[0] = expf(v);
  o[1] = tanhf(v);
  o[2] = erff(v);
  o[3] = logf(fabsf(v) + 1e-3f);
  o[4] = sinf(1e4f * v); // reduces the argument by a slow path: integer products with carries, local memory
  o[5] = cosf(v);
  o[6] = rsqrtf(fabsf(v) + 1e-3f);
  o[7] = powf(fabsf(v), 1.7f);
  o[8] = __expf(v);
  o[9] = __fdividef(v, 3.0f);
  o[10] = sqrtf(fabsf(v));
  o[11] = v / 7.0f;
}

extern "C" __global__ void doubles(const double *x, double *y, int n) {
  int i = threadIdx.x;
  if (i >= n)
    return;
  y[4 * i] = exp(x[i]);
  y[4 * i + 1] = x[i] / 3.0;
  y[4 * i + 2] = sqrt(fabs(x[i]));
  y[4 * i + 3] = rint(x[i] * 10);
}

// Writes 14 results for each pair of integers.
extern "C" __global__ void integers(const uint32_t *a, const uint32_t *b, uint64_t *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  uint32_t u = a[i], v = b[i];
  int s = (int)u, t = (int)v;
  uint64_t *o = y + 14 * i;
  o[0] = __umulhi(u, v);
  o[1] = (uint64_t)u * v;
  o[2] = (uint64_t)((int64_t)s * t);
  o[3] = v ? u / v : 0;
  o[4] = v ? (uint32_t)(u % v) : 0;
  o[5] = __clz(u);
  o[6] = __popc(u);
  o[7] = __brev(u);
  o[8] = __byte_perm(u, v, v & 0x7777);
  o[9] = __funnelshift_l(u, v, v & 31);
  o[10] = (uint32_t)(s >> (v & 31));
  o[11] = (uint32_t)(s > t ? s : t);
  o[12] = __ffs(u);
  switch (u % 7) { // a table of branches
  case 0: o[13] = 3; break;
  case 1: o[13] = u ^ v; break;
  case 2: o[13] = u + 2 * v; break;
  case 3: o[13] = 17; break;
  case 4: o[13] = u & v; break;
  case 5: o[13] = u | v; break;
  default: o[13] = ~u; break;
  }
}

// Conversions. Writes 10 results for each value, as bits.
extern "C" __global__ void conversions(const float *x, uint32_t *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  uint32_t *o = y + 10 * i;
  o[0] = __half_as_ushort(__float2half_rn(v));
  o[1] = __bfloat16_as_ushort(__float2bfloat16_rn(v));
  o[2] = __float_as_uint(__half2float(__ushort_as_half((unsigned short)__float_as_uint(v))));
  o[3] = (uint32_t)__float2int_rz(v);
  o[4] = __float2uint_rn(v);
  o[5] = (uint32_t)__float2int_rd(v);
  o[6] = __float_as_uint((float)(int)__float_as_uint(v));
  o[7] = __half_as_ushort(__hadd(__float2half_rn(v), __float2half_rn(0.1f)));
  o[8] = __bfloat16_as_ushort(__hfma(__float2bfloat16_rn(v), __float2bfloat16_rn(1.5f), __float2bfloat16_rn(0.3f)));
  __nv_bfloat162 pair = __floats2bfloat162_rn(v, 2 * v);
  o[9] = *(uint32_t *)&pair;
}

// Votes, matches and reductions of one warp.
extern "C" __global__ void warps(const uint32_t *x, uint32_t *y) {
  int t = threadIdx.x;
  uint32_t v = x[t], *o = y + 8 * t;
  o[0] = __ballot_sync(~0u, v & 1);
  o[1] = __any_sync(~0u, v == 5) | __all_sync(~0u, v < 100) << 1;
  o[2] = __match_any_sync(~0u, v % 4);
  o[3] = __reduce_add_sync(~0u, v);
  o[4] = __reduce_max_sync(~0u, v);
  o[5] = __shfl_sync(~0u, v, (t + 5) % 32);
  o[6] = __shfl_up_sync(~0u, v, 3, 16);
  o[7] = t < 8 ? __shfl_xor_sync(0xff, v, 3) : 0;
}

extern "C" __global__ void atomics(const uint32_t *x, uint32_t *counts, float *sum, uint32_t *least, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ uint32_t local[16];
  if (threadIdx.x < 16)
    local[threadIdx.x] = 0;
  __syncthreads();
  if (i < n) {
    atomicAdd(&local[x[i] % 16], 1u);
    atomicAdd(sum, (float)(x[i] % 8));
    atomicMin(least, x[i]);
  }
  int rest = __syncthreads_count(i < n);
  if (threadIdx.x < 16)
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
  if (threadIdx.x == 0)
    atomicAdd(&counts[16], (uint32_t)rest);
}

struct Four {
  float v[4];
};
__device__ __noinline__ float dot(Four a, Four b) {
  float s = 0;
  for (int i = 0; i < 4; i++)
    s += a.v[i] * b.v[i];
  return s;
}
__constant__ float weights[4] = {1.0f, 0.5f, 0.25f, 0.125f};
__device__ int launches = 3;

// A struct as argument, a call, constants, a variable of the module, and local arrays with an unknown index.
extern "C" __global__ void calls(Four a, const int *index, float *y) {
  Four w;
  for (int i = 0; i < 4; i++)
    w.v[i] = weights[i];
  float local[8];
  for (int i = 0; i < 8; i++)
    local[i] = i * 2.0f;
  y[threadIdx.x] = dot(a, w) + local[index[threadIdx.x]];
  if (threadIdx.x == 0)
    launches++;
}

// 16-byte accesses.
extern "C" __global__ void vectors(const float4 *x, float4 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = x[i];
    y[i] = make_float4(v.w, v.z, v.y, v.x);
  }
}

// Blocks pass on their results by a fence and a counter, and the last one adds them. This is legal.
extern "C" __global__ void last_block(const float *x, float *partial, unsigned *count, float *total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float s = 0;
    for (unsigned i = 0; i < gridDim.x; i++)
      s += ((volatile float *)partial)[i];
    *total = s;
  }
}
