// Matrix instructions: each alone, against the fragment tables of the PTX ISA, and together in a product.
#include <cuda_bf16.h>
#include <stdint.h>
__device__ inline uint32_t shared(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ inline void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(shared(to)), "l"(from));
}

// One warp. Stores each lane's registers of ldmatrix.x4, plain and transposed, for a 16 x 16 matrix that counts up.
extern "C" __global__ void load_matrix(uint32_t *plain, uint32_t *transposed) {
  __shared__ __align__(128) uint16_t s[16][16];
  int l = threadIdx.x;
  for (int i = l; i < 256; i += 32)
    s[i / 16][i % 16] = i;
  __syncthreads();
  uint32_t r[4], a = shared(&s[l % 16][l / 16 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(a));
  for (int i = 0; i < 4; i++)
    plain[l * 4 + i] = r[i];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(a));
  for (int i = 0; i < 4; i++)
    transposed[l * 4 + i] = r[i];
}

// One warp: mma.sync on registers that the host has filled. kind 0: bf16 k16, 1: f16 k16, 2: tf32 k8, 3: bf16 k8.
extern "C" __global__ void multiply(const uint32_t *a, const uint32_t *b, const float *c, float *d, int kind) {
  int l = threadIdx.x;
  const uint32_t *A = a + 4 * l, *B = b + 2 * l;
  float r[4];
  for (int i = 0; i < 4; i++)
    r[i] = c[4 * l + i];
  if (kind == 0)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
  else if (kind == 1)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
  else if (kind == 2)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
  else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
                 : "r"(A[0]), "r"(A[1]), "r"(B[0]));
  for (int i = 0; i < 4; i++)
    d[4 * l + i] = r[i];
}

// C = A * B^T in bf16 with cp.async, ldmatrix and mma.sync. One warp computes a tile of 16 x 8.
extern "C" __global__ void __launch_bounds__(32) product(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n,
                                                         int k) {
  __shared__ __align__(128) __nv_bfloat16 sa[16][16], sb[8][16];
  int l = threadIdx.x, m0 = blockIdx.x * 16, n0 = blockIdx.y * 8;
  float d[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += 16) {
    copy16(&sa[l / 2][l % 2 * 8], a + (m0 + l / 2) * k + k0 + l % 2 * 8);
    if (l < 16)
      copy16(&sb[l / 2][l % 2 * 8], b + (n0 + l / 2) * k + k0 + l % 2 * 8);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    uint32_t f[4], g[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(shared(&sa[l % 16][l / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(g[0]), "=r"(g[1])
                 : "r"(shared(&sb[l % 8][l / 8 % 2 * 8])));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]));
    __syncthreads();
  }
  for (int e = 0; e < 4; e++)
    c[(m0 + l / 4 + e / 2 * 8) * n + n0 + l % 4 * 2 + e % 2] = d[e];
}

__device__ inline uint64_t descriptor(const void *p) {
  return ((shared(p) & 0x3ffff) >> 4) | (1ull << 16) | ((1024ull >> 4) << 32) | (1ull << 62);
}
__device__ inline void wait(void *bar, int phase) {
  asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\n"
               "bra LAB_WAIT;\nDONE:\n}" ::"r"(shared(bar)),
               "r"(phase)
               : "memory");
}
__device__ inline void arrive(void *bar) {
  asm volatile("{\n.reg .b64 s;\nmbarrier.arrive.shared::cta.b64 s, [%0];\n}" ::"r"(shared(bar)) : "memory");
}
// C[64 x 16] per block = A[64 x K] * B[16 x K]^T with wgmma, in 128-byte swizzled K-major tiles of 64 columns. Warp
// group 1 fills the tiles, and warp group 0 multiplies. `full` and `empty` keep them apart. careful = 0: the producer
// does not wait.
extern "C" __global__ void __launch_bounds__(256) group_product(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C,
                                                                int K, int careful) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ __align__(1024) __nv_bfloat16 sa[64 * 64], sb[16 * 64];
  __shared__ uint64_t full, empty;
  int t = threadIdx.x;
  float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&full)), "r"(128));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&empty)), "r"(128));
  }
  __syncthreads();
  for (int k0 = 0, phase = 0; k0 < K; k0 += 64, phase ^= 1) {
    if (t >= 128) {
      if (k0 && careful)
        wait(&empty, phase ^ 1);
      for (int i = t - 128; i < 80 * 64; i += 128) {
        int r = i / 64, c = i % 64;
        if (r < 64)
          sa[(r * 64 + c) ^ ((r & 7) << 3)] = A[(blockIdx.x * 64 + r) * K + k0 + c];
        else
          sb[((r - 64) * 64 + c) ^ ((r & 7) << 3)] = B[(blockIdx.y * 16 + r - 64) * K + k0 + c];
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      arrive(&full);
    } else {
      wait(&full, phase);
      asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
      for (int k = 0; k < 64; k += 16)
        asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %10, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
                     "{%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, p, 1, 1, 0, 0;}\n"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                     : "l"(descriptor(sa) + k * 2 / 16), "l"(descriptor(sb) + k * 2 / 16), "r"(1));
      asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
      arrive(&empty);
    }
  }
  if (t < 128)
    for (int e = 0; e < 8; e++)
      C[(blockIdx.x * 64 + t / 32 * 16 + t % 32 / 4 + (e >> 1 & 1) * 8) * 256 + blockIdx.y * 16 + e / 4 * 8 + t % 4 * 2 +
        (e & 1)] = d[e];
#endif
}

#define R8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define R64 R8(0), R8(8), R8(16), R8(24), R8(32), R8(40), R8(48), R8(56)
#define NAMES                                                                                                          \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"    \
  "%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,"   \
  "%58,%59,%60,%61,%62,%63}"
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES

// The descriptor of the matrix that begins at byte `at` of an array.
__device__ inline uint64_t apartBy(const void *p, int at, int leading, int stride, uint64_t swizzle) {
  return (((shared(p) + at) & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | swizzle << 62;
}

// C[64 x 128] = A[64 x 32] * B[32 x 128], by one warp group. Kind 0: A in registers, B with rows of 64 adjacent columns
// ("N-major") and 128-byte swizzle. Its halves are `apart` bytes apart. Kind 1: the same without a swizzle, in core
// matrices of 8 k by 8 columns. Kind 2: as 1, but A is in shared memory with adjacent columns ("M-major").
template <int Kind> __device__ void transposedProduct(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int apart) {
  __shared__ __align__(1024) __nv_bfloat16 sa[64 * 32], sb[32 * 128];
  int t = threadIdx.x, g = t % 32 / 4, q = t % 4;
  for (int i = t; i < 32 * 128; i += 128) {
    int k = i / 128, n = i % 128;
    if (Kind == 0)
      sb[n / 64 * 2048 + k * 64 + ((n % 64 / 8) ^ (k & 7)) * 8 + n % 8] = B[i];
    else
      sb[k / 8 * 1024 + n / 8 * 64 + k % 8 * 8 + n % 8] = B[i];
  }
  for (int i = t; i < 64 * 32; i += 128) {
    int m = i / 32, k = i % 32;
    sa[k / 8 * 512 + m / 8 * 64 + k % 8 * 8 + m % 8] = A[i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  uint32_t a[2][4];
  for (int k = 0; k < 2; k++)
    for (int r = 0; r < 4; r++)
      a[k][r] = ((const uint32_t *)(A + (t / 32 * 16 + g + r % 2 * 8) * 32 + k * 16))[q + r / 2 * 4];
  for (int k = 0; k < 2; k++) // before the fence
    asm volatile("" : "+r"(a[k][0]), "+r"(a[k][1]), "+r"(a[k][2]), "+r"(a[k][3]));
  float d[64];
  for (int e = 0; e < 64; e++)
    d[e] = 0;
  asm volatile("wgmma.fence.sync.aligned;" : R64::"memory");
#pragma unroll
  for (int k = 0; k < 2; k++) {
    uint64_t b = Kind == 0 ? apartBy(sb, k * 2048, apart, 1024, 1) : apartBy(sb, k * 4096, 2048, 128, 0);
    if (Kind == 2)
      asm volatile(PRODUCT ", %64, %65, 1, 1, 1, 1, 1;" : R64 : "l"(apartBy(sa, k * 2048, 1024, 128, 0)), "l"(b));
    else
      asm volatile(PRODUCT ", {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
                   : R64
                   : "r"(a[k][0]), "r"(a[k][1]), "r"(a[k][2]), "r"(a[k][3]), "l"(b));
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : R64::"memory");
  for (int e = 0; e < 64; e++)
    C[(t / 32 * 16 + g + (e >> 1 & 1) * 8) * 128 + e / 4 * 8 + q * 2 + (e & 1)] = d[e];
}
#define TRANSPOSED(kind)                                                                                               \
  extern "C" __global__ void __launch_bounds__(128)                                                                    \
  group_transposed_##kind(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int apart) {                       \
    transposedProduct<kind>(A, B, C, apart);                                                                           \
  }
TRANSPOSED(0)
TRANSPOSED(1)
TRANSPOSED(2)
