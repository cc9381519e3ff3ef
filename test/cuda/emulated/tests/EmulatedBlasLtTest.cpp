// The emulated cuBLASLt: its values compared with plain C++, and the mistakes that it must refuse.
#include "test/cuda/emulated/blaslt/Problem.h"
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/tests/DriverLibrary.h"
#include <cmath>
#include <random>

namespace cleave::emulated::test {
namespace {

using namespace blaslt;

struct Size {
  uint64_t m, n, k;
  int batch = 1;
  uint64_t extra = 0; // added to each leading dimension
};

struct Result { // cublasLtMatmulHeuristicResult_t
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

float rounded(double v, int type) {
  return type == R_16BF ? bf16ToFloat(doubleToBf16(v)) : type == R_16F ? f16ToFloat(doubleToF16(v)) : float(v);
}

class BlasLtTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    const char *path = getenv("CLEAVE_LIBCUBLASLT");
    library = dlopen(path ? path : CLEAVE_EMULATED_BLASLT, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    ASSERT_EQ(call("cublasLtCreate", &handle), Success);
  }
  void TearDown() override {
    call("cublasLtDestroy", handle);
    clearFindings();
    DriverTest::TearDown();
  }
  template <class... A> int call(const char *name, A... arguments) const {
    auto *f = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    EXPECT_NE(f, nullptr) << name;
    return f ? f(arguments...) : -1;
  }
  template <class T> void set(Handle desc, int attribute, T value) {
    ASSERT_EQ(call("cublasLtMatmulDescSetAttribute", desc, attribute, static_cast<const void *>(&value), sizeof value),
              Success);
  }

  void *library = nullptr;
  Handle handle = nullptr;
};

// A problem with its matrices. A and B have type `type`, C and D have type `out`. All are column-major.
class Product {
public:
  Product(BlasLtTest *, void *library, Handle handle, Size s, int type, int out, bool transA, bool transB,
          int computeType)
      : library(library), handle(handle), s(s), type(type), out(out), transA(transA), transB(transB) {
    int scaleType = computeType == Compute64F ? R_64F : R_32F;
    EXPECT_EQ(call("cublasLtMatmulDescCreate", &desc, computeType, scaleType), Success);
    set(DescTransA, int32_t(transA));
    set(DescTransB, int32_t(transB));
    makeLayout(a, type, transA ? s.k : s.m, transA ? s.m : s.k, layoutA);
    makeLayout(b, type, transB ? s.n : s.k, transB ? s.k : s.n, layoutB);
    makeLayout(d, out, s.m, s.n, layoutD);
    fill(a, 1);
    fill(b, 2);
    fill(d, 3);
  }
  ~Product() {
    for (Handle l : {layoutA, layoutB, layoutD})
      call("cublasLtMatrixLayoutDestroy", l);
    call("cublasLtMatmulDescDestroy", desc);
    for (Matrix *m : {&a, &b, &d})
      Driver::get().call("cuMemFree_v2", m->address);
  }

  struct Matrix {
    int type;
    uint64_t rows, cols, ld, stride;
    uint64_t address = 0;
    std::vector<double> values; // includes the gaps between columns
    double at(uint64_t batch, uint64_t r, uint64_t c) const { return values[batch * stride + c * ld + r]; }
  };

  template <class... A> int call(const char *name, A... arguments) const {
    return reinterpret_cast<int (*)(A...)>(dlsym(library, name))(arguments...);
  }
  template <class T> void set(int attribute, T value) {
    EXPECT_EQ(call("cublasLtMatmulDescSetAttribute", desc, attribute, static_cast<const void *>(&value), sizeof value),
              Success);
  }

  int heuristic(uint64_t workspace, std::vector<Result> &results, uint32_t alignment = 0,
                uint32_t reductions = ReductionAll) {
    Handle preference;
    call("cublasLtMatmulPreferenceCreate", &preference);
    call("cublasLtMatmulPreferenceSetAttribute", preference, int(PreferenceWorkspace),
         static_cast<const void *>(&workspace), sizeof workspace);
    for (int i = 0; alignment && i < 4; i++)
      call("cublasLtMatmulPreferenceSetAttribute", preference, PreferenceAlignmentA + i,
           static_cast<const void *>(&alignment), sizeof alignment);
    if (reductions != ReductionAll)
      call("cublasLtMatmulPreferenceSetAttribute", preference, int(PreferenceReduction),
           static_cast<const void *>(&reductions), sizeof reductions);
    results.resize(8);
    int count = 0;
    int status = call("cublasLtMatmulAlgoGetHeuristic", handle, desc, layoutA, layoutB, layoutD, layoutD, preference, 8,
                      static_cast<void *>(results.data()), &count);
    results.resize(size_t(count));
    call("cublasLtMatmulPreferenceDestroy", preference);
    return status;
  }
  int run(const Result *r, uint64_t workspace, size_t workspaceBytes, double alpha, double beta,
          Handle stream = nullptr, uint64_t offsetA = 0) {
    float alpha32 = float(alpha), beta32 = float(beta);
    bool wide = type == R_64F;
    const void *x = wide ? static_cast<const void *>(&alpha) : &alpha32,
               *y = wide ? static_cast<const void *>(&beta) : &beta32;
    auto pointer = [](uint64_t p) { return reinterpret_cast<void *>(p); };
    return call("cublasLtMatmul", handle, desc, x, static_cast<const void *>(pointer(a.address + offsetA)), layoutA,
                static_cast<const void *>(pointer(b.address)), layoutB, y,
                static_cast<const void *>(pointer(d.address)), layoutD, pointer(d.address), layoutD,
                static_cast<const void *>(r ? r->algorithm : nullptr), pointer(workspace), workspaceBytes, stream);
  }
  std::vector<double> download(const Matrix &m) const {
    std::vector<double> v(m.values.size());
    size_t size = m.type == R_64F ? 8 : m.type == R_32F ? 4 : 2;
    std::vector<char> raw(v.size() * size);
    EXPECT_EQ(Driver::get().call("cuMemcpyDtoH_v2", static_cast<void *>(raw.data()), m.address, raw.size()), 0)
        << firstFinding();
    for (size_t i = 0; i < v.size(); i++)
      v[i] = size == 8         ? reinterpret_cast<double *>(raw.data())[i]
             : size == 4       ? reinterpret_cast<float *>(raw.data())[i]
             : m.type == R_16F ? f16ToFloat(reinterpret_cast<uint16_t *>(raw.data())[i])
                               : bf16ToFloat(reinterpret_cast<uint16_t *>(raw.data())[i]);
    return v;
  }
  double exact(uint64_t batch, uint64_t i, uint64_t j) const {
    double sum = 0;
    for (uint64_t l = 0; l < s.k; l++)
      sum += (transA ? a.at(batch, l, i) : a.at(batch, i, l)) * (transB ? b.at(batch, j, l) : b.at(batch, l, j));
    return sum;
  }
  double tolerance() const {
    return out == R_64F ? 1e-13 : out == R_32F ? 1e-5 : out == R_16BF ? 1.0 / 128 : 1.0 / 1024;
  }

  void *library;
  Handle handle, desc = nullptr, layoutA = nullptr, layoutB = nullptr, layoutD = nullptr;
  Size s;
  int type, out;
  bool transA, transB;
  Matrix a, b, d;

private:
  void makeLayout(Matrix &m, int matrixType, uint64_t rows, uint64_t cols, Handle &layout) {
    m.type = matrixType;
    m.rows = rows;
    m.cols = cols;
    m.ld = rows + s.extra;
    m.stride = m.ld * cols;
    EXPECT_EQ(call("cublasLtMatrixLayoutCreate", &layout, matrixType, rows, cols, int64_t(m.ld)), Success);
    auto stride = int64_t(m.stride);
    call("cublasLtMatrixLayoutSetAttribute", layout, int(LayoutBatchCount), static_cast<const void *>(&s.batch),
         sizeof s.batch);
    call("cublasLtMatrixLayoutSetAttribute", layout, int(LayoutBatchStride), static_cast<const void *>(&stride),
         sizeof stride);
  }
  // The gaps between columns stay uninitialized on the device: no product may read them.
  void fill(Matrix &m, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    m.values.resize(m.stride * uint64_t(s.batch));
    size_t size = m.type == R_64F ? 8 : m.type == R_32F ? 4 : 2;
    EXPECT_EQ(Driver::get().call("cuMemAlloc_v2", &m.address, m.values.size() * size), 0);
    std::vector<char> raw(m.values.size() * size);
    for (size_t i = 0; i < m.values.size(); i++) {
      double v = m.type == R_64F ? uniform(generator) : double(rounded(uniform(generator), m.type));
      m.values[i] = v;
      if (size == 8)
        reinterpret_cast<double *>(raw.data())[i] = v;
      else if (size == 4)
        reinterpret_cast<float *>(raw.data())[i] = float(v);
      else
        reinterpret_cast<uint16_t *>(raw.data())[i] = m.type == R_16F ? doubleToF16(v) : doubleToBf16(v);
    }
    for (uint64_t c = 0; c < m.cols * uint64_t(s.batch); c++)
      EXPECT_EQ(Driver::get().call("cuMemcpyHtoD_v2", m.address + c * m.ld * size,
                                   static_cast<const void *>(raw.data() + c * m.ld * size), m.rows * size),
                0);
  }
};

#define PRODUCT(name, ...) Product name(this, library, handle, __VA_ARGS__)

TEST_F(BlasLtTest, Values) {
  struct Kind {
    int type, out, compute;
  };
  for (Kind kind : {Kind{R_32F, R_32F, Compute32F}, Kind{R_16BF, R_16BF, Compute32F}, Kind{R_16BF, R_32F, Compute32F},
                    Kind{R_16F, R_16F, Compute32F}, Kind{R_64F, R_64F, Compute64F}})
    for (int trans = 0; trans < 4; trans++)
      for (Size s : {Size{8, 16, 24}, Size{5, 3, 7, 3, 2}, Size{1, 9, 1}}) {
        PRODUCT(p, s, kind.type, kind.out, trans & 1, trans & 2, kind.compute);
        std::vector<Result> found;
        bool isAligned = s.m % 8 == 0 || kind.type == R_32F || kind.type == R_64F;
        if (!d.isEmulated && !isAligned)
          continue; // a real library requires alignments that these sizes do not have
        ASSERT_EQ(p.heuristic(0, found), Success);
        ASSERT_FALSE(found.empty());
        ASSERT_EQ(p.run(&found[0], 0, 0, 0.5, 2, nullptr), Success);
        std::vector<double> got = s.extra ? std::vector<double>() : p.download(p.d);
        for (uint64_t batch = 0; batch < uint64_t(s.batch); batch++)
          for (uint64_t j = 0; j < s.n; j++) {
            if (s.extra) { // column by column, because the gaps are not initialized
              Product::Matrix column = p.d;
              column.address += (batch * p.d.stride + j * p.d.ld) * (kind.out == R_64F ? 8 : kind.out == R_32F ? 4 : 2);
              column.values.resize(s.m);
              got = p.download(column);
            }
            for (uint64_t i = 0; i < s.m; i++) {
              double expected = 0.5 * p.exact(batch, i, j) + 2 * p.d.at(batch, i, j);
              double value = s.extra ? got[i] : got[batch * p.d.stride + j * p.d.ld + i];
              ASSERT_NEAR(value, expected, p.tolerance() * std::max(1.0, std::fabs(expected)))
                  << kind.type << " " << trans;
            }
          }
      }
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

TEST_F(BlasLtTest, EpiloguesForward) {
  Size s{16, 8, 32};
  std::vector<float> bias(s.m);
  for (size_t i = 0; i < s.m; i++)
    bias[i] = 0.1f * float(i) - 0.7f;
  for (uint32_t epilogue : {4u, 2u, 6u, 32u, 36u, 164u}) {
    PRODUCT(p, s, R_32F, R_32F, true, false, Compute32F);
    Buffer<float> biases(bias), aux(s.m * s.n);
    p.set(DescEpilogue, epilogue);
    if (usesBias(epilogue))
      p.set(DescBiasPointer, biases.address);
    if (epilogue & EpilogueAux) {
      p.set(DescAuxPointer, aux.address);
      p.set(DescAuxLd, int64_t(s.m));
    }
    std::vector<Result> found;
    ASSERT_EQ(p.heuristic(0, found), Success);
    ASSERT_EQ(p.run(&found[0], 0, 0, 1, 0), Success);
    std::vector<double> got = p.download(p.d);
    std::vector<float> before;
    if (epilogue & EpilogueAux)
      before = aux.get();
    for (uint64_t j = 0; j < s.n; j++)
      for (uint64_t i = 0; i < s.m; i++) {
        double v = p.exact(0, i, j) + (epilogue & EpilogueBias ? bias[i] : 0);
        if (epilogue & EpilogueAux) {
          EXPECT_NEAR(before[j * s.m + i], v, 1e-5);
        }
        v = epilogue & EpilogueRelu ? std::max(v, 0.0) : epilogue & EpilogueGelu ? gelu(v) : v;
        EXPECT_NEAR(got[j * s.m + i], v, 1e-4) << epilogue; // a real library approximates tanh
      }
  }
}

TEST_F(BlasLtTest, EpiloguesBackward) {
  Size s{16, 8, 32};
  std::vector<float> inputs(s.m * s.n);
  for (size_t i = 0; i < inputs.size(); i++)
    inputs[i] = std::sin(float(i));
  for (uint32_t epilogue : {64u | 128u, 64u | 128u | 16u, 256u, 512u}) {
    PRODUCT(p, s, R_32F, R_32F, false, true, Compute32F);
    Buffer<float> gradient(epilogue == 512u ? s.n : s.m), aux(inputs);
    p.set(DescEpilogue, epilogue);
    if (usesBias(epilogue))
      p.set(DescBiasPointer, gradient.address);
    if (epilogue & EpilogueAux) {
      p.set(DescAuxPointer, aux.address);
      p.set(DescAuxLd, int64_t(s.m));
    }
    std::vector<Result> found;
    if (!d.isEmulated && p.heuristic(0, found) != Success)
      continue; // a real library does not have every epilogue in every type
    ASSERT_EQ(p.heuristic(0, found), Success);
    ASSERT_EQ(p.run(&found[0], 0, 0, 1, 0), Success);
    std::vector<double> got = p.download(p.d), sums(std::max(s.m, s.n), 0);
    for (uint64_t j = 0; j < s.n; j++)
      for (uint64_t i = 0; i < s.m; i++) {
        double x = inputs[j * s.m + i], v = p.exact(0, i, j), h = 1e-5;
        if (epilogue & EpilogueDGelu)
          v *= (gelu(x + h) - gelu(x - h)) / (2 * h);
        sums[i] += epilogue & EpilogueBiasGradient ? v : 0;
        EXPECT_NEAR(got[j * s.m + i], v, 1e-3) << epilogue;
      }
    for (uint64_t l = 0; l < s.k; l++) {
      for (uint64_t i = 0; epilogue == 256u && i < s.m; i++)
        sums[i] += p.a.at(0, i, l);
      for (uint64_t j = 0; epilogue == 512u && j < s.n; j++)
        sums[j] += p.b.at(0, j, l);
    }
    if (epilogue & (EpilogueBiasGradient | EpilogueBiasGradientA | EpilogueBiasGradientB)) {
      std::vector<float> g = gradient.get();
      for (size_t i = 0; i < g.size(); i++)
        EXPECT_NEAR(g[i], sums[i], 1e-3) << epilogue;
    }
  }
}

// Rules for the matrices of epilogues that cublasLt.h states, and rules for bias gradients that users have found.
TEST_F(BlasLtTest, EpiloguesThatAreRefused) {
  if (!d.isEmulated)
    GTEST_SKIP();
  Size s{12, 24, 32};
  Buffer<float> vector(s.n), aux(s.m * s.n + 4096);
  auto tell = [&](uint32_t epilogue, int64_t auxLd, bool transA, bool transB, uint64_t offset = 0) {
    PRODUCT(p, s, R_32F, R_32F, transA, transB, Compute32F);
    p.set(DescEpilogue, epilogue);
    if (usesBias(epilogue))
      p.set(DescBiasPointer, vector.address + offset);
    if (epilogue & EpilogueAux) {
      p.set(DescAuxPointer, aux.address);
      p.set(DescAuxLd, auxLd);
    }
    std::vector<Result> found;
    return p.heuristic(0, found);
  };
  EXPECT_EQ(tell(EpilogueGelu | EpilogueAux, 16, false, false), Success);
  EXPECT_EQ(tell(EpilogueGelu | EpilogueAux, 12, false, false), NotSupported);
  EXPECT_EQ(tell(EpilogueRelu | EpilogueAux, 128, false, false), Success);
  EXPECT_EQ(tell(EpilogueRelu | EpilogueAux, 64, false, false), NotSupported);
  EXPECT_EQ(tell(EpilogueRelu | EpilogueAux, 8, false, false), InvalidValue); // less than the rows
  for (uint32_t epilogue : {uint32_t(EpilogueBias), uint32_t(EpilogueBiasGradientA)}) {
    EXPECT_EQ(tell(epilogue, 0, false, false, 16), Success);
    EXPECT_EQ(tell(epilogue, 0, false, false, 8), InvalidValue); // a library may move 16 bytes at a time
  }
  for (bool other : {false, true}) {
    EXPECT_EQ(tell(EpilogueBiasGradientA, 0, false, other), Success);
    EXPECT_EQ(tell(EpilogueBiasGradientA, 0, true, other), NotSupported);
    EXPECT_EQ(tell(EpilogueBiasGradientB, 0, other, true), Success);
    EXPECT_EQ(tell(EpilogueBiasGradientB, 0, other, false), NotSupported);
  }
}

// The heuristics return algorithms whose workspace is within the limit. The first one needs all of it.
TEST_F(BlasLtTest, WorkspaceLimits) {
  if (!d.isEmulated)
    GTEST_SKIP();
  PRODUCT(p, Size{64, 64, 64}, R_32F, R_32F, false, false, Compute32F);
  std::vector<Result> none, some, all;
  ASSERT_EQ(p.heuristic(0, none), Success);
  ASSERT_EQ(p.heuristic(1 << 20, some), Success);
  ASSERT_EQ(p.heuristic(32 << 20, all), Success);
  EXPECT_EQ(none.size(), 1u);
  EXPECT_EQ(some.size(), 3u);
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(some[0].workspace, size_t(1) << 20);
  Buffer<char> workspace(1 << 20);
  EXPECT_EQ(p.run(&some[0], workspace.address, (1 << 20) - 1, 1, 0), InvalidValue);
  EXPECT_EQ(p.run(&some[0], 0, 1 << 20, 1, 0), InvalidValue);
  EXPECT_EQ(p.run(&some[0], workspace.address, 1 << 20, 1, 0), Success);
  // If the caller states a larger workspace than it has, the run finds the mistake.
  EXPECT_EQ(p.run(&all[0], workspace.address, 4 << 20, 1, 0), Success);
  EXPECT_EQ(synchronize(), code::IllegalAddress);
  EXPECT_NE(firstFinding().find("cublasLtMatmul writes"), std::string::npos) << firstFinding();
  clearFindings();
}

// Without an algorithm, the library takes any of them, and the bits differ from call to call. With one they are equal.
TEST_F(BlasLtTest, AlgorithmsAndBits) {
  if (!d.isEmulated)
    GTEST_SKIP();
  PRODUCT(p, Size{16, 16, 500}, R_32F, R_32F, false, false, Compute32F);
  std::vector<Result> found;
  ASSERT_EQ(p.heuristic(0, found), Success);
  std::vector<double> kept[3], any[4];
  for (auto &r : kept) {
    ASSERT_EQ(p.run(&found[0], 0, 0, 1, 0), Success);
    r = p.download(p.d);
  }
  for (auto &r : any) {
    ASSERT_EQ(p.run(nullptr, 0, 0, 1, 0), Success);
    r = p.download(p.d);
  }
  EXPECT_EQ(kept[0], kept[1]);
  EXPECT_EQ(kept[0], kept[2]);
  EXPECT_TRUE(any[0] != any[1] || any[1] != any[2] || any[2] != any[3]);
}

// Unless the preference forbids it, partial sums are rounded to the type of the result, in which they may overflow.
TEST_F(BlasLtTest, PartsOfSums) {
  if (!d.isEmulated)
    GTEST_SKIP();
  constexpr uint64_t kParts = 4, kDepth = 4096;
  auto errorWith = [&](uint32_t reductions, size_t *count) {
    PRODUCT(p, Size{8, 8, kDepth}, R_16F, R_16F, true, false, Compute32F);
    std::vector<Result> found;
    EXPECT_EQ(p.heuristic(4 << 20, found, 0, reductions), Success);
    *count = found.size();
    Buffer<char> workspace(4 << 20);
    EXPECT_EQ(p.run(&found[0], workspace.address, 4 << 20, 1000, 0), Success);
    std::vector<double> got = p.download(p.d);
    double error = 0;
    for (uint64_t j = 0; j < 8; ++j)
      for (uint64_t i = 0; i < 8; ++i) {
        double expected = double(rounded(1000 * p.exact(0, i, j), R_16F));
        error = std::max(error, std::fabs(got[j * 8 + i] - expected) / std::max(1000.0, std::fabs(expected)));
      }
    return error;
  };
  size_t count = 0;
  EXPECT_LT(errorWith(ReductionComputeType, &count), 1.0 / 512);
  EXPECT_EQ(count, kParts);
  EXPECT_LT(errorWith(ReductionNone, &count), 1.0 / 512);
  EXPECT_EQ(count, 1u);
  for (uint32_t reductions : {ReductionAll, ReductionInPlace, ReductionOutputType}) {
    EXPECT_GT(errorWith(reductions, &count), 1.0 / 512) << reductions;
    EXPECT_EQ(count, kParts);
  }
}

TEST_F(BlasLtTest, WhatIsRefused) {
  if (!d.isEmulated)
    GTEST_SKIP();
  std::vector<Result> found;
  {
    PRODUCT(p, Size{8, 8, 8}, R_32F, R_32F, false, false, Compute32F);
    p.set(DescEpilogue, uint32_t(EpilogueBias)); // without a bias
    EXPECT_EQ(p.heuristic(0, found), InvalidValue);
  }
  {
    PRODUCT(p, Size{8, 8, 8}, R_32F, R_16F, false, false, Compute32F);
    EXPECT_EQ(p.heuristic(0, found), NotSupported);
  }
  {
    PRODUCT(p, Size{8, 4, 8}, R_32F, R_32F, false, false, Compute32F);
    p.set(DescTransB, int32_t(1)); // the layout is not transposed
    EXPECT_EQ(p.heuristic(0, found), InvalidValue);
  }
  {
    PRODUCT(p, Size{8, 8, 8}, R_32F, R_32F, false, false, Compute32F);
    p.set(DescBiasPointer, p.a.address); // the epilogue has no bias: a real library also refuses the product
    ASSERT_EQ(p.heuristic(0, found), Success);
    EXPECT_EQ(p.run(&found[0], 0, 0, 1, 0), InvalidValue);
  }
  PRODUCT(p, Size{8, 8, 8}, R_32F, R_32F, false, false, Compute32F);
  ASSERT_EQ(p.heuristic(0, found, 16), Success);
  EXPECT_EQ(p.run(&found[0], 0, 0, 1, 0, nullptr, 4), InvalidValue); // promised 16 bytes, but gives alignments of 4
  PRODUCT(other, Size{8, 8, 8}, R_16F, R_16F, false, false, Compute32F);
  EXPECT_EQ(other.run(&found[0], 0, 0, 1, 0), NotSupported);
}

// Products are ordered by their streams, and their operands must have been written.
TEST_F(BlasLtTest, StreamsAndMemory) {
  if (!d.isEmulated)
    GTEST_SKIP();
  Module m(readText("planted.ptx"));
  for (bool wait : {true, false}) {
    PRODUCT(p, Size{8, 8, 8}, R_32F, R_32F, false, false, Compute32F);
    Buffer<float> x(std::vector<float>(64, 1));
    std::vector<Result> found;
    ASSERT_EQ(p.heuristic(0, found), Success);
    Stream a, b;
    Event e;
    ASSERT_EQ(launch(m.function("add_one"), {2, 32}, a.handle, x.address, p.a.address, 64), code::Success);
    ASSERT_EQ(e.record(a), code::Success);
    if (wait) {
      ASSERT_EQ(e.wait(b), code::Success);
    }
    ASSERT_EQ(p.run(&found[0], 0, 0, 1, 0, b.handle), Success);
    synchronize();
    EXPECT_EQ(firstFinding().find("race between streams") != std::string::npos, !wait) << firstFinding();
    clearFindings();
  }
  PRODUCT(p, Size{8, 8, 8}, R_32F, R_32F, false, false, Compute32F);
  Buffer<float> fresh(64);
  std::swap(p.a.address, fresh.address);
  std::vector<Result> found;
  ASSERT_EQ(p.heuristic(0, found), Success);
  ASSERT_EQ(p.run(&found[0], 0, 0, 1, 0), Success);
  EXPECT_EQ(synchronize(), code::LaunchFailed);
  EXPECT_NE(firstFinding().find("which nothing wrote"), std::string::npos) << firstFinding();
  clearFindings();
  std::swap(p.a.address, fresh.address);
}

} // namespace
} // namespace cleave::emulated::test
