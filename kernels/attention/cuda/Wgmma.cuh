// wgmma: products of 64 lines, computed by four warps together (a warp group; PTX ISA, "Asynchronous Warpgroup Level
// Matrix Instructions"). Only sm_90a has it, and this text is compiled for compute_80. So each such instruction is a
// comment of the PTX, which begins with `//sm_90a:`. When the compiler makes machine code for that GPU, it turns these
// comments into code (compiler/Codegen/CUDA/Ptxas.h). In the unchanged text, these kernels trap at once.
#pragma once

#include "kernels/attention/cuda/AttentionMma.cuh"

namespace cleave::rt {

#define CLEAVE_SM_90A(text) "//sm_90a: " text

// Ends a kernel whose instructions are comments. The text for sm_90a does not have this line.
__device__ inline void needsWgmma() { asm volatile("trap; exit; //not sm_90a" ::: "memory"); }

// A tile in shared memory, as wgmma reads it with a swizzle of 128 bytes. It consists of parts of 64 columns. A part
// has a line of 128 bytes for each row. In a line, the 16-byte chunk c is at place c ^ (row % 8). The tile begins at a
// multiple of 1024 bytes.
template <int Rows> struct SwizzledPlace {
  // The descriptor ("Matrix Descriptor Format") of an operand that begins at this column, a multiple of 16. k goes
  // along the columns. Groups of 8 rows are 1024 bytes apart. With a swizzle, the other offset is not used.
  __device__ static unsigned long long lines(unsigned tile, int column) {
    return descriptor(tile, 1, column / 64 * (Rows * 8) + column % 64 / 8);
  }
  // The descriptor of an operand that begins at this row, a multiple of 8. k goes along the rows ("MN-major"). Groups
  // of 8 rows are 1024 bytes apart, and parts of 64 columns are Rows * 128 bytes apart.
  __device__ static unsigned long long columns(unsigned tile, int row) { return descriptor(tile, Rows * 8, row * 8); }

private:
  // `leading` and `offset` are in units of 16 bytes.
  __device__ static unsigned long long descriptor(unsigned tile, unsigned leading, unsigned offset) {
    constexpr unsigned kHigh = 1024 >> 4 | 1u << 30;
    unsigned long long all;
    asm("mov.b64 %0, {%1, %2};" : "=l"(all) : "r"(((tile & 0x3ffff) >> 4 | leading << 16) + offset), "r"(kHigh));
    return all;
  }
};

// Operands of inline assembly: the registers of sums, in groups of 8 columns.
#define CLEAVE_SUMS_8(d, j) "+f"((d)[j][0]), "+f"((d)[j][1]), "+f"((d)[j][2]), "+f"((d)[j][3])
#define CLEAVE_SUMS_16(d, j) CLEAVE_SUMS_8(d, j), CLEAVE_SUMS_8(d, (j) + 1)
#define CLEAVE_SUMS_32(d, j) CLEAVE_SUMS_16(d, j), CLEAVE_SUMS_16(d, (j) + 2)
#define CLEAVE_SUMS_48(d) CLEAVE_SUMS_32(d, 0), CLEAVE_SUMS_16(d, 4)
#define CLEAVE_SUMS_64(d) CLEAVE_SUMS_32(d, 0), CLEAVE_SUMS_32(d, 4)
#define CLEAVE_SUMS_128(d) CLEAVE_SUMS_64(d), CLEAVE_SUMS_32(d, 8), CLEAVE_SUMS_32(d, 12)
#define CLEAVE_NAMES_24 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23"
#define CLEAVE_NAMES_32 CLEAVE_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define CLEAVE_NAMES_64                                                                                                \
  CLEAVE_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,"  \
                  "%56,%57,%58,%59,%60,%61,%62,%63"

// Products with sums of 64 lines (those of a warp group) and Columns columns. A warp has 16 of the lines, distributed
// over its threads as in mma.sync. `open` must precede the first product with these sums, and each product after other
// code has accessed them. closeGroup() ends a group of products, and `wait` waits for all but the latest `Left` groups.
// The sums are operands of `open` and `wait`, so that no compiler moves an access to them across these.
template <typename T, int Columns> struct Wgmma;
// names: the registers of sums; o0 to o5: the operands after them.
#define CLEAVE_WGMMA(T, type, N, names, o0, o1, o2, o3, o4, o5)                                                        \
  template <> struct Wgmma<T, N> {                                                                                     \
    using Sums = float (&)[N / 8][4];                                                                                  \
    static __device__ void open(Sums d) {                                                                              \
      asm volatile(CLEAVE_SM_90A("wgmma.fence.sync.aligned;") : CLEAVE_SUMS_##N(d)::"memory");                         \
    }                                                                                                                  \
    template <int Left> static __device__ void wait(Sums d) {                                                          \
      asm volatile(CLEAVE_SM_90A("wgmma.wait_group.sync.aligned " o0 ";")                                              \
                   : CLEAVE_SUMS_##N(d)                                                                                \
                   : "n"(Left)                                                                                         \
                   : "memory");                                                                                        \
    }                                                                                                                  \
    /* d = a * b^T, or d += a * b^T if Adds. Rows of b are columns of d. */                                            \
    template <bool Adds> static __device__ void across(Sums d, unsigned long long a, unsigned long long b) {           \
      asm volatile(CLEAVE_SM_90A("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" names "}, " o0   \
                                 ", " o1 ", " o2 ", 1, 1, 0, 0;")                                                      \
                   : CLEAVE_SUMS_##N(d)                                                                                \
                   : "l"(a), "l"(b), "n"(Adds)                                                                         \
                   : "memory");                                                                                        \
    }                                                                                                                  \
    template <bool Adds> static __device__ void across(Sums d, const unsigned (&a)[4], unsigned long long b) {         \
      asm volatile(CLEAVE_SM_90A("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" names "}, {" o0  \
                                 "," o1 "," o2 "," o3 "}, " o4 ", " o5 ", 1, 1, 0;")                                   \
                   : CLEAVE_SUMS_##N(d)                                                                                \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(Adds)                                     \
                   : "memory");                                                                                        \
    }                                                                                                                  \
    /* d += a * b */                                                                                                   \
    static __device__ void along(Sums d, const unsigned (&a)[4], unsigned long long b) {                               \
      asm volatile(CLEAVE_SM_90A("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." type "." type " {" names "}, {" o0  \
                                 "," o1 "," o2 "," o3 "}, " o4 ", 1, 1, 1, 1;")                                        \
                   : CLEAVE_SUMS_##N(d)                                                                                \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                                \
                   : "memory");                                                                                        \
    }                                                                                                                  \
  };
#define CLEAVE_WGMMA_OF(T, type)                                                                                       \
  CLEAVE_WGMMA(T, type, 48, CLEAVE_NAMES_24, "%24", "%25", "%26", "%27", "%28", "%29")                                 \
  CLEAVE_WGMMA(T, type, 64, CLEAVE_NAMES_32, "%32", "%33", "%34", "%35", "%36", "%37")                                 \
  CLEAVE_WGMMA(T, type, 128, CLEAVE_NAMES_64, "%64", "%65", "%66", "%67", "%68", "%69")
CLEAVE_WGMMA_OF(__half, "f16")
CLEAVE_WGMMA_OF(__nv_bfloat16, "bf16")
#undef CLEAVE_WGMMA_OF
#undef CLEAVE_WGMMA

// Ends a group of products.
__device__ inline void closeGroup() { asm volatile(CLEAVE_SM_90A("wgmma.commit_group.sync.aligned;") ::: "memory"); }

// Makes this thread's writes to shared memory visible to products ("the async proxy"), after a barrier.
__device__ inline void showToProducts() { asm volatile(CLEAVE_SM_90A("fence.proxy.async.shared::cta;") ::: "memory"); }

// Forces left operands to be in their registers here, so that no compiler computes them later.
template <int Steps> __device__ void holdOperands(unsigned (&a)[Steps][4]) {
#pragma unroll
  for (int k = 0; k < Steps; ++k)
    asm volatile("" : "+r"(a[k][0]), "+r"(a[k][1]), "+r"(a[k][2]), "+r"(a[k][3]));
}

} // namespace cleave::rt
