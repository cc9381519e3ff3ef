// A matrix multiplication as cuBLASLt describes it: D = epilogue(alpha * op(A) * op(B) + beta * C), batched.
//
// All matrices are column-major here; a row-major layout is the transpose of a column-major one. D has m rows and n
// columns. A bias has one element per row of D (that is how cuBLASLt broadcasts it), and so has a bias gradient.
#pragma once
#include "test/cuda/emulated/blaslt/Constants.h"
#include "test/cuda/emulated/driver/Control.h"
#include <cstddef>
#include <string>

namespace cleave::emulated::blaslt {

// The state behind a handle of cublasLtMatmulDescCreate.
struct Desc {
  int computeType = 0, scaleType = 0;
  int pointerMode = 0;
  int transA = OpN, transB = OpN, transC = OpN;
  uint32_t epilogue = EpilogueDefault;
  uint64_t bias = 0, aux = 0;
  int64_t biasBatchStride = 0, auxLd = 0, auxBatchStride = 0;
  int auxType = -1, biasType = -1; // -1: the API's default
  int smCount = 0;
};

struct Layout {
  int type = 0;
  int order = ColumnMajor;
  uint64_t rows = 0, cols = 0;
  int64_t ld = 0;
  int batchCount = 1;
  int64_t batchStride = 0;
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = ReductionAll;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

// An algorithm. It is opaque to the caller, who may store its 64 bytes and pass them again later.
struct Algorithm {
  uint32_t magic;
  uint32_t id; // the number of partial sums, less one. Each partial sum is rounded by itself
  uint64_t workspace;
  uint32_t alignment[4];
  int32_t types[4]; // of compute, A, B and D, in the problem that it was made for
  uint32_t reduction; // how the partial sums are added
  uint32_t unused[3];
};
static_assert(sizeof(Algorithm) == 64, "cublasLtMatmulAlgo_t has 64 bytes");
constexpr uint32_t kAlgorithmMagic = 0x6c74616c;

struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96, "cublasLtMatmulHeuristicResult_t has 96 bytes");

struct Problem {
  Desc desc;
  Layout a, b, c, d;
  // The product's size, from the layouts and the operations.
  uint64_t m = 0, n = 0, k = 0;
};

// Fills `p` and checks it. Returns a status. If it is not Success, `why` says the reason.
int makeProblem(const Desc &desc, const Layout &a, const Layout &b, const Layout &c, const Layout &d, Problem &p,
                std::string &why);

// The scalars, pointers and workspace of one launch.
struct Operands {
  double alpha = 1, beta = 0; // in host pointer mode
  uint64_t alphaPointer = 0, betaPointer = 0;
  uint64_t a = 0, b = 0, c = 0, d = 0, workspace = 0;
  size_t workspaceBytes = 0;
};

// Runs the problem on a stream's thread.
void compute(const Problem &p, const Operands &o, const Algorithm &algorithm, const cleave_emulated_memory &memory);

unsigned bytesOf(int type);

// True if an epilogue reads or writes the bias pointer. cublasLtMatmul refuses a pointer that it does not use.
inline bool usesBias(uint32_t epilogue) {
  return epilogue & (EpilogueBias | EpilogueBiasGradient | EpilogueBiasGradientA | EpilogueBiasGradientB);
}

} // namespace cleave::emulated::blaslt
