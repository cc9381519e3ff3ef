// Kernels of families that Cleave generates, as one writes them by hand in CUDA C++, for comparing the machine code
// (instruction_counts.py). The sizes are known, accesses have 16 bytes, and row sums are made in registers and
// shuffles.
constexpr int kRows = 4096, kColumns = 1024, kLanes = 32, kKept = kColumns / kLanes / 4;

__device__ float sumOfWarp(float v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}
__device__ float maximumOfWarp(float v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}
// The formula of Cleave's tanh on all targets: a rational function with an IEEE 754 division. CUDA's tanhf is not used:
// it has other bits than the host's, and the comparison is about code, not about the choice of a formula.
__device__ float tangent(float x) {
  float a = fminf(fmaxf(x, -7.99881172f), 7.99881172f), s = a * a;
  float p = fmaf(s, fmaf(s, fmaf(s, fmaf(s, fmaf(s, fmaf(s, -2.76076847742355e-16f, 2.00018790482477e-13f), -8.60467152213735e-11f),
            5.12229709037114e-08f), 1.48572235717979e-05f), 6.37261928875436e-04f), 4.89352455891786e-03f);
  float q = fmaf(s, fmaf(s, fmaf(s, 1.19825839466702e-06f, 1.18534705686654e-04f), 2.26843463243900e-03f), 4.89352518554385e-03f);
  return fabsf(x) < 0.0004f ? a : a * p / q;
}
__device__ float gelu(float x) {
  return 0.5f * x * (1.0f + tangent(0.79788456f * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void __launch_bounds__(256) gelu(const float4 *__restrict__ x, const float4 *__restrict__ bias,
                                                       float4 *__restrict__ y) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < kRows * kColumns / 4; i += gridDim.x * 256) {
    float4 a = x[i], b = bias[i % (kColumns / 4)];
    y[i] = {gelu(a.x + b.x), gelu(a.y + b.y), gelu(a.z + b.z), gelu(a.w + b.w)};
  }
}

__device__ float ramp(float x, float scale, float bias, float rest) { return fmaxf(x * scale + bias + rest, 0); }

extern "C" __global__ void __launch_bounds__(256) relu(const float4 *__restrict__ x, const float4 *__restrict__ scale,
                                                       const float4 *__restrict__ bias, const float4 *__restrict__ r,
                                                       float4 *__restrict__ y) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < kRows * kColumns / 4; i += gridDim.x * 256) {
    float4 a = x[i], s = scale[i % (kColumns / 4)], b = bias[i % (kColumns / 4)], c = r[i];
    y[i] = {ramp(a.x, s.x, b.x, c.x), ramp(a.y, s.y, b.y, c.y), ramp(a.z, s.z, b.z, c.z), ramp(a.w, s.w, b.w, c.w)};
  }
}

extern "C" __global__ void __launch_bounds__(256) softmax(const float4 *__restrict__ x, float4 *__restrict__ y) {
  int lane = threadIdx.x % kLanes;
  for (int row = blockIdx.x * 8 + threadIdx.x / kLanes; row < kRows; row += gridDim.x * 8) {
    float4 v[kKept];
    float maximum = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      v[i] = x[row * (kColumns / 4) + i * kLanes + lane];
      maximum = fmaxf(maximum, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    }
    maximum = maximumOfWarp(maximum);
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      v[i] = {expf(v[i].x - maximum), expf(v[i].y - maximum), expf(v[i].z - maximum), expf(v[i].w - maximum)};
      sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    sum = sumOfWarp(sum);
#pragma unroll
    for (int i = 0; i < kKept; ++i)
      y[row * (kColumns / 4) + i * kLanes + lane] = {v[i].x / sum, v[i].y / sum, v[i].z / sum, v[i].w / sum};
  }
}

extern "C" __global__ void __launch_bounds__(256) layer_norm(const float4 *__restrict__ x, const float4 *__restrict__ scale,
                                                             const float4 *__restrict__ bias, float4 *__restrict__ y) {
  int lane = threadIdx.x % kLanes;
  for (int row = blockIdx.x * 8 + threadIdx.x / kLanes; row < kRows; row += gridDim.x * 8) {
    float4 v[kKept];
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      v[i] = x[row * (kColumns / 4) + i * kLanes + lane];
      sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    float mean = sumOfWarp(sum) / kColumns;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      v[i] = {v[i].x - mean, v[i].y - mean, v[i].z - mean, v[i].w - mean};
      squares += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    }
    float factor = 1 / sqrtf(sumOfWarp(squares) / kColumns + 1e-5f);
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      float4 s = scale[i * kLanes + lane], b = bias[i * kLanes + lane];
      y[row * (kColumns / 4) + i * kLanes + lane] = {v[i].x * factor * s.x + b.x, v[i].y * factor * s.y + b.y,
                                                     v[i].z * factor * s.z + b.z, v[i].w * factor * s.w + b.w};
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) log_softmax(const float4 *__restrict__ x, float4 *__restrict__ y) {
  int lane = threadIdx.x % kLanes;
  for (int row = blockIdx.x * 8 + threadIdx.x / kLanes; row < kRows; row += gridDim.x * 8) {
    float4 v[kKept];
    float maximum = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      v[i] = x[row * (kColumns / 4) + i * kLanes + lane];
      maximum = fmaxf(maximum, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    }
    maximum = maximumOfWarp(maximum);
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      v[i] = {v[i].x - maximum, v[i].y - maximum, v[i].z - maximum, v[i].w - maximum};
      sum += expf(v[i].x) + expf(v[i].y) + expf(v[i].z) + expf(v[i].w);
    }
    float whole = logf(sumOfWarp(sum));
#pragma unroll
    for (int i = 0; i < kKept; ++i)
      y[row * (kColumns / 4) + i * kLanes + lane] = {v[i].x - whole, v[i].y - whole, v[i].z - whole, v[i].w - whole};
  }
}

// A block sums 512 rows of 32 columns. Of the blocks of the same columns, the last one adds their sums, in order.
constexpr int kTiles = kColumns / 32, kParts = kRows / 512;
__device__ float4 partials[kParts][kColumns / 4];
__device__ unsigned finished[kTiles];

extern "C" __global__ void __launch_bounds__(512) column_sum(const float4 *__restrict__ x, float4 *__restrict__ y) {
  __shared__ float4 sums[16][8];
  __shared__ bool isLast;
  int column = threadIdx.x % 8, line = threadIdx.x / 8, warp = threadIdx.x / 32;
  for (int work = blockIdx.x; work < kTiles * kParts; work += gridDim.x) {
    int tile = work / kParts, part = work % kParts, at = tile * 8 + column;
    float4 sum = {};
    for (int row = part * 512 + line; row < (part + 1) * 512; row += 64) {
      float4 v = x[row * (kColumns / 4) + at];
      sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
    }
#pragma unroll
    for (int d = 16; d >= 8; d /= 2)
      sum = {sum.x + __shfl_xor_sync(0xffffffffu, sum.x, d), sum.y + __shfl_xor_sync(0xffffffffu, sum.y, d),
             sum.z + __shfl_xor_sync(0xffffffffu, sum.z, d), sum.w + __shfl_xor_sync(0xffffffffu, sum.w, d)};
    __syncthreads();
    if (threadIdx.x % 32 < 8)
      sums[warp][column] = sum;
    __syncthreads();
    if (threadIdx.x < 8) {
      for (int i = 1; i < 16; ++i) {
        float4 v = sums[i][column];
        sum = i == 1 ? sums[0][column] : sum;
        sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
      }
      partials[part][at] = sum;
      __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0)
      isLast = atomicInc(&finished[tile], kParts - 1) == kParts - 1;
    __syncthreads();
    if (isLast && threadIdx.x < 8) {
      __threadfence();
      sum = __ldcg(&partials[0][at]);
      for (int i = 1; i < kParts; ++i) {
        float4 v = __ldcg(&partials[i][at]);
        sum = {sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w};
      }
      y[at] = sum;
    }
  }
}

// A thread reads four rows, and writes four of their numbers at once, which are then adjacent.
extern "C" __global__ void __launch_bounds__(256) transpose(const float *__restrict__ x, float4 *__restrict__ y) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < kRows * kColumns / 4; i += gridDim.x * 256) {
    int row = i % (kRows / 4) * 4, column = i / (kRows / 4);
    const float *from = x + row * kColumns + column;
    y[i] = {from[0], from[kColumns], from[2 * kColumns], from[3 * kColumns]};
  }
}
