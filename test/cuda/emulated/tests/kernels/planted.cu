// Kernels with one mistake each, which the emulated device must find (see FindingsTest).
#include <cassert>
#include <stdint.h>

// Threads read what their neighbours wrote, without a barrier between.
extern "C" __global__ void missing_barrier(float *y) {
  __shared__ float s[256];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[(threadIdx.x + 33) % 256];
}
// The second round overwrites values that other threads may still read.
extern "C" __global__ void missing_second_barrier(float *y) {
  __shared__ float s[256];
  for (int round = 0; round < 2; round++) {
    s[threadIdx.x] = threadIdx.x + round;
    __syncthreads();
    y[threadIdx.x] = s[255 - threadIdx.x];
  }
}
// Lanes of one warp exchange through shared memory without a warp barrier.
extern "C" __global__ void missing_warp_barrier(float *y) {
  __shared__ volatile float s[32];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void warp_barrier(float *y) {
  __shared__ volatile float s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void both_barriers(float *y) {
  __shared__ float s[256];
  for (int round = 0; round < 2; round++) {
    s[threadIdx.x] = threadIdx.x + round;
    __syncthreads();
    y[threadIdx.x] = s[255 - threadIdx.x];
    __syncthreads();
  }
}
// Half of the threads wait at one barrier, and the others at another one.
extern "C" __global__ void diverged_barrier(float *y) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  y[threadIdx.x] = 0;
}
extern "C" __global__ void write_outside(float *y, int n) { y[n + threadIdx.x] = 1; }
extern "C" __global__ void read_outside(const float *x, float *y, int n) { y[threadIdx.x] = x[n]; }
extern "C" __global__ void shared_outside(float *y, int n) {
  extern __shared__ float s[];
  s[threadIdx.x * n] = 1;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x * n];
}
extern "C" __global__ void misaligned(const char *x, float4 *y) { y[0] = *(const float4 *)(x + 4); }
extern "C" __global__ void failing_assert(const int *x) { assert(x[0] == 7); }
extern "C" __global__ void trap() { asm volatile("trap;"); }
// All blocks write the same element.
extern "C" __global__ void blocks_collide(float *y) { y[threadIdx.x] = blockIdx.x; }
// A block reads values that another block writes.
extern "C" __global__ void blocks_read(float *y) {
  if (blockIdx.x == 0)
    y[threadIdx.x] = 1;
  else
    y[blockIdx.x * 32 + threadIdx.x] = y[threadIdx.x] + 1;
}
// The thread reads the copied bytes before it waits for the copy.
extern "C" __global__ void missing_copy_wait(const float *x, float *y, int wait) {
  __shared__ __align__(16) float s[128];
  uint32_t to = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x * 4));
  asm volatile("cp.async.commit_group;");
  if (wait)
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  for (int i = 0; i < 4; i++)
    y[threadIdx.x * 4 + i] = ((volatile float *)s)[threadIdx.x * 4 + i];
}
// Each thread waits for its own copies, but the copies of other threads need a barrier, too.
extern "C" __global__ void missing_copy_barrier(const float *x, float *y, int barrier) {
  __shared__ __align__(16) float s[128];
  uint32_t to = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x * 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x * 4));
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  if (barrier)
    __syncthreads();
  for (int i = 0; i < 4; i++)
    y[threadIdx.x * 4 + i] = s[127 - threadIdx.x * 4 - i];
}
// A kernel without a mistake. Tests use it to plant mistakes of the host.
extern "C" __global__ void add_one(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] + 1;
}
extern "C" __global__ void spin_for_ever(float *y) {
  __shared__ uint64_t bar;
  uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar), done = 0;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(b));
  __syncthreads();
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(b));
  y[threadIdx.x] = 1;
}
