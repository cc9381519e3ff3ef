// Products, indexing and argmax compared with loops in float64.
#include "test/runtime/device/KernelHarness.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace cleave::rt;
using namespace cleave::rt::test;

namespace {

struct Product {
  int64_t batch, batchA, batchB, m, n, k;
  bool transposeA, transposeB;
};

Values multiply(const Product &p, const Values &a, const Values &b) {
  Values c(static_cast<size_t>(p.batch * p.m * p.n));
  for (int64_t s = 0; s < p.batch; ++s)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        for (int64_t k = 0; k < p.k; ++k) {
          int64_t ai = (p.batchA == 1 ? 0 : s) * p.m * p.k + (p.transposeA ? k * p.m + i : i * p.k + k);
          int64_t bi = (p.batchB == 1 ? 0 : s) * p.k * p.n + (p.transposeB ? j * p.k + k : k * p.n + j);
          c[static_cast<size_t>((s * p.m + i) * p.n + j)] += a[static_cast<size_t>(ai)] * b[static_cast<size_t>(bi)];
        }
  return c;
}

KernelParams paramsOf(const Product &p, fb::DType dtype, fb::DType out, const char *kernel = "matmul") {
  KernelParams params(*findKernelDef(kernel));
  params.set("dtype", int64_t(dtype)).set("out_dtype", int64_t(out)).set("batch", p.batch).set("batch_a", p.batchA);
  params.set("batch_b", p.batchB).set("m", p.m).set("n", p.n).set("k", p.k).set("transpose_a", p.transposeA);
  params.set("transpose_b", p.transposeB);
  return params;
}

void checkProduct(const Product &p, fb::DType dtype, fb::DType out, int threads) {
  KernelParams params = paramsOf(p, dtype, out);
  Values a = sine(static_cast<size_t>(p.batchA * p.m * p.k), 1), b = sine(static_cast<size_t>(p.batchB * p.k * p.n), 2);
  Values expected = multiply(p, a, b);
  std::string what = std::string(fb::EnumNameDType(dtype)) + " m " + std::to_string(p.m) + " transpose " +
                     std::to_string(p.transposeA) + std::to_string(p.transposeB);
  Values c(expected.size(), 7);
  expectClose(runKernel("matmul", params, {{dtype, a}, {dtype, b}, {out, c}}, threads), expected, toleranceOf(dtype),
              what);
  Values bias = sine(static_cast<size_t>(p.n), 3);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] += bias[i % bias.size()];
  expectClose(runKernel("matmul_bias", paramsOf(p, dtype, out, "matmul_bias"),
                        {{dtype, a}, {dtype, b}, {out, bias}, {out, c}}, threads),
              expected, toleranceOf(dtype), what + " and a bias");
}

TEST(Matmul, MatchesFloat64) {
  using D = fb::DType;
  for (auto [dtype, out] : {std::pair{D::f32, D::f32},
                            {D::f64, D::f64},
                            {D::bf16, D::f32},
                            {D::bf16, D::bf16},
                            {D::f16, D::f16},
                            {D::f16, D::f32}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        checkProduct({1, 1, 1, 5, 7, 11, ta, tb}, dtype, out, 1);
        checkProduct({3, 3, 1, 17, 300, 8, ta, tb}, dtype, out, 2);
        checkProduct({4, 1, 4, 6, 9, 13, ta, tb}, dtype, out, 2);
        checkProduct({2, 2, 2, 64, 33, 40, ta, tb}, dtype, out, 2);
      }
}

// A single chain of 4100 additions in f32 would have an error of 5e-7 of the result's norm.
TEST(Matmul, LongSumsRoundLittle) {
  fb::DType f32 = fb::DType::f32;
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (Product p : {Product{1, 1, 1, 6, 40, 4100, ta, tb}, Product{2, 1, 2, 6, 40, 1100, ta, tb}}) {
        Values a = noise(static_cast<size_t>(p.batchA * p.m * p.k), 1);
        Values b = noise(static_cast<size_t>(p.batchB * p.k * p.n), 2);
        Values expected = multiply(p, a, b), c(expected.size(), 7);
        c = runKernel("matmul", paramsOf(p, f32, f32), {{f32, a}, {f32, b}, {f32, c}}, 2);
        EXPECT_LE(relativeError(c, expected), 3.8e-7) << "transpose " << ta << tb << " k " << p.k;
      }
}

// From 2048 on, f16 has only even numbers; from 256 on, bf16. A product of 2049 is rounded to 2048, and 2048 + 1 would
// be rounded to 2048 again.
TEST(Matmul, ABiasIsAddedBeforeTheResultIsRounded) {
  for (auto [dtype, large] : {std::pair{fb::DType::f16, 2048.0}, {fb::DType::bf16, 256.0}})
    for (int64_t m : {1, 24})
      for (int64_t n : {1, 40}) {
        Product p{1, 1, 1, m, n, 2, false, false};
        Values a, b(static_cast<size_t>(2 * n), 1), c(static_cast<size_t>(m * n), 7);
        for (int64_t i = 0; i < m; ++i)
          a.insert(a.end(), {large, 1});
        Values got = runKernel("matmul_bias", paramsOf(p, dtype, dtype, "matmul_bias"),
                               {{dtype, a}, {dtype, b}, {dtype, Values(static_cast<size_t>(n), 1)}, {dtype, c}}, 1);
        EXPECT_EQ(got, Values(got.size(), large + 2)) << fb::EnumNameDType(dtype) << " " << m << " " << n;
      }
}

// Tests c = a^T b, and the sums of the columns of b or of a.
void checkBiasGradient(int64_t m, int64_t n, int64_t k, fb::DType dtype, fb::DType out, int threads) {
  Values a = sine(static_cast<size_t>(k * m), 1), b = sine(static_cast<size_t>(k * n), 2);
  Values expected = multiply({1, 1, 1, m, n, k, true, false}, a, b);
  for (bool isOfA : {false, true}) {
    const char *name = isOfA ? "matmul_bias_grad_a" : "matmul_bias_grad";
    KernelParams params(*findKernelDef(name));
    params.set("dtype", int64_t(dtype)).set("out_dtype", int64_t(out)).set("m", m).set("n", n).set("k", k);
    const Values &summed = isOfA ? a : b;
    size_t columns = static_cast<size_t>(isOfA ? m : n);
    Values sums(columns);
    for (size_t i = 0; i < summed.size(); ++i)
      sums[i % columns] += summed[i];
    std::string what = std::string(name) + " " + fb::EnumNameDType(dtype) + " m " + std::to_string(m) + " n " +
                       std::to_string(n) + " k " + std::to_string(k);
    std::vector<Operand> operands = {
        {dtype, a}, {dtype, b}, {out, Values(expected.size(), 7)}, {out, Values(columns, 7)}};
    std::vector<Values> got = runOnOperands(name, params, operands, threads);
    ASSERT_EQ(got.size(), 4u) << what;
    expectClose(got[2], expected, toleranceOf(dtype), what);
    expectClose(got[3], sums, toleranceOf(dtype), what + ", sums");
  }
}

TEST(Matmul, ABiasGradientIsTheSumOfColumns) {
  using D = fb::DType;
  for (auto [dtype, out] : {std::pair{D::f32, D::f32},
                            {D::f64, D::f64},
                            {D::bf16, D::f32},
                            {D::bf16, D::bf16},
                            {D::f16, D::f16},
                            {D::f16, D::f32}}) {
    checkBiasGradient(5, 7, 11, dtype, out, 1);
    checkBiasGradient(1, 64, 65, dtype, out, 2);
    checkBiasGradient(130, 1, 200, dtype, out, 2);
    checkBiasGradient(24, 300, 513, dtype, out, 3);
  }
}

// Threads share the columns. A single chain of 40,000 additions in f32 of numbers around 1 would have an error of 1e-5.
TEST(Matmul, ABiasGradientRoundsLittleOnAnyNumberOfThreads) {
  fb::DType f32 = fb::DType::f32;
  KernelParams params(*findKernelDef("matmul_bias_grad"));
  params.set("dtype", int64_t(f32)).set("out_dtype", int64_t(f32)).set("m", 2).set("n", 80).set("k", 40000);
  Values a = noise(80000, 1), b = noise(3200000, 2), sums(80);
  for (double &value : b)
    value = static_cast<double>(static_cast<float>(value + 1));
  for (size_t i = 0; i < b.size(); ++i)
    sums[i % 80] += b[i];
  std::vector<Operand> operands = {{f32, a}, {f32, b}, {f32, Values(160)}, {f32, Values(80)}};
  Values one = runKernel("matmul_bias_grad", params, operands, 1);
  EXPECT_LE(relativeError(one, sums), 1e-7);
  EXPECT_EQ(one, runKernel("matmul_bias_grad", params, operands, 3));
}

TEST(Matmul, RefusesWhatIsWrong) {
  size_t bytes = 0;
  //                        dtype out batch a b m n k ta tb packed
  std::vector<int64_t> good = {0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0};
  EXPECT_TRUE(hostScratchBytes("matmul", good, 1, &bytes).isOk());
  for (auto [position, value] :
       {std::pair<int, int64_t>{0, 4}, {0, 99}, {1, 1}, {3, 5}, {5, 0}, {6, -1}, {7, 1ll << 60}}) {
    std::vector<int64_t> bad = good;
    bad[static_cast<size_t>(position)] = value;
    EXPECT_FALSE(hostScratchBytes("matmul", bad, 1, &bytes).isOk()) << position << " " << value;
  }
  EXPECT_FALSE(hostScratchBytes("matmul", {0, 0}, 1, &bytes).isOk());
  EXPECT_FALSE(hostScratchBytes("nothing", good, 1, &bytes).isOk());
}

struct Table {
  int64_t batch, outer, rows, inner, indices;
  size_t element(int64_t b, int64_t o, int64_t row, int64_t r) const {
    return static_cast<size_t>(((b * outer + o) * rows + row) * inner + r);
  }
  size_t slice(int64_t b, int64_t o, int64_t i, int64_t r) const {
    return static_cast<size_t>(((b * outer + o) * indices + i) * inner + r);
  }
  size_t elements() const { return element(batch, 0, 0, 0); }
  size_t slices() const { return slice(batch, 0, 0, 0); }
};

bool hasBatch(std::string_view kernel) { return kernel == "pick" || kernel == "put"; }

KernelParams indexing(const char *name, fb::DType dtype, const Table &t, int64_t combine = -1) {
  KernelParams params(*findKernelDef(name));
  params.set("dtype", int64_t(dtype)).set("index_dtype", int64_t(fb::DType::i64));
  params.set("outer", t.outer).set("rows", t.rows).set("inner", t.inner).set("indices", t.indices);
  if (hasBatch(name))
    params.set("batch", t.batch);
  if (std::string_view(name) == "put")
    params.set("combine", combine);
  return params;
}

double combined(int64_t combine, double old, double update) {
  switch (combine) {
  case -1:
    return update;
  case 0:
    return old + update;
  case 1:
    return std::max(old, update);
  case 2:
    return std::min(old, update);
  default:
    return old * update;
  }
}

// Indices that repeat. Some count from the end.
TEST(Indexing, TakesAndPuts) {
  for (fb::DType dtype : {fb::DType::f32, fb::DType::f64, fb::DType::i32})
    for (int64_t batch : {1, 3, 40})
      for (int64_t inner : {1, 5, 200}) {
        Table t = {batch, 2, 6, inner, 30};
        bool isInteger = dtype == fb::DType::i32;
        auto filled = [&](size_t count, int seed) {
          Values values = sine(count, seed);
          for (double &value : values)
            value = isInteger ? std::round(value * 2) : value;
          return values;
        };
        Values index, x = filled(t.elements(), 3), update = filled(t.slices(), 4), taken(t.slices());
        for (int64_t i = 0; i < batch * t.indices; ++i)
          index.push_back(static_cast<double>(i * i % 12 - 6));
        std::vector<Values> put(5, x); // indexed by combine + 1
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t o = 0; o < t.outer; ++o)
            for (int64_t i = 0; i < t.indices; ++i)
              for (int64_t r = 0; r < inner; ++r) {
                auto row = static_cast<int64_t>(index[static_cast<size_t>(b * t.indices + i)]);
                size_t at = t.element(b, o, row < 0 ? row + t.rows : row, r);
                taken[t.slice(b, o, i, r)] = x[at];
                for (int64_t combine = -1; combine < 4; ++combine) {
                  double &value = put[static_cast<size_t>(combine + 1)][at];
                  value = combined(combine, value, update[t.slice(b, o, i, r)]);
                }
              }
        auto reads = [&](const char *name, int threads) {
          expectClose(runKernel(name, indexing(name, dtype, t),
                                {{dtype, x}, {fb::DType::i64, index}, {dtype, Values(taken.size())}}, threads),
                      taken, 1e-6, name);
        };
        auto writes = [&](const char *name, int64_t combine, int threads) {
          expectClose(runKernel(name, indexing(name, dtype, t, combine),
                                {{dtype, x}, {fb::DType::i64, index}, {dtype, update}, {dtype, Values(x.size())}},
                                threads),
                      put[static_cast<size_t>(combine + 1)], isInteger ? 0 : toleranceOf(dtype), name);
        };
        for (int threads : {1, 2, 3}) {
          reads("pick", threads);
          if (batch == 1)
            reads("take", threads), writes("put_add", 0, threads);
          for (int64_t combine = -1; combine < (isInteger ? 3 : 4); ++combine) // products would soon overflow 32 bits
            writes("put", combine, threads);
        }
      }
}

TEST(Indexing, ExtremaKeepNaN) {
  Table t = {1, 1, 4, 1, 4};
  for (int64_t combine : {1, 2}) {
    Values y = runKernel("put", indexing("put", fb::DType::f32, t, combine),
                         {{fb::DType::f32, {NAN, 1, 2, 3}},
                          {fb::DType::i64, {0, 1, 1, 3}},
                          {fb::DType::f32, {5, NAN, 7, 3}},
                          {fb::DType::f32, Values(4)}},
                         1);
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_EQ(y[2], 2);
    EXPECT_EQ(y[3], 3);
  }
}

TEST(Indexing, RefusesIndicesOutOfRange) {
  for (double bad : {6.0, -7.0, 1e18})
    for (const char *name : {"take", "pick", "put_add", "put"}) {
      Status status;
      Table t = {1, 1, 6, 2, 3};
      fb::DType f32 = fb::DType::f32;
      std::vector<Operand> buffers = {{f32, Values(12)}, {fb::DType::i64, {0, 5, bad}}};
      bool puts = std::string_view(name).substr(0, 3) == "put";
      if (puts)
        buffers.push_back({f32, Values(6)});
      buffers.push_back({f32, Values(puts ? 12 : 6)});
      runKernel(name, indexing(name, f32, t), buffers, 1, &status);
      EXPECT_NE(status.message().find("at position 2 is out of range; expected -6 to 5"), std::string::npos)
          << status.message();
    }
}

TEST(Indexing, ChecksNumbers) {
  auto run = [](Values numbers, int64_t other, Status *status) {
    KernelParams params(*findKernelDef("check_index"));
    params.set("dtype", static_cast<int64_t>(fb::DType::i64)).set("count", 3).set("first", 0).set("end", 6).set("other", other);
    return runKernel("check_index", params, {{fb::DType::i64, numbers}, {fb::DType::i64, Values(3)}}, 1, status);
  };
  Status status;
  EXPECT_EQ(run({0, 5, 3}, 0, &status), (Values{0, 5, 3}));
  EXPECT_EQ(run({0, -100, 5}, -100, &status), (Values{0, -100, 5}));
  EXPECT_TRUE(status.isOk());
  for (double bad : {6.0, -1.0, 1e18}) {
    run({0, 5, bad}, 0, &status);
    EXPECT_NE(status.message().find("at position 2 is out of range; expected 0 to 5"), std::string::npos) << status.message();
  }
  run({-99, 5, 0}, -100, &status);
  EXPECT_NE(status.message().find("index -99 at position 0 is out of range; expected 0 to 5, or -100"), std::string::npos);
}

KernelParams ranking(fb::DType dtype, int64_t outer, int64_t extent, int64_t count, bool smallest) {
  KernelParams params(*findKernelDef("top_k"));
  return params.set("dtype", int64_t(dtype)).set("outer", outer).set("extent", extent).set("count", count).set(
      "smallest", smallest);
}

TEST(TopK, RanksAsAStableSort) {
  for (fb::DType dtype : {fb::DType::f32, fb::DType::i32})
    for (int64_t extent : {1, 7, 300})
      for (int64_t count : {int64_t(1), (extent + 1) / 2, extent})
        for (bool smallest : {false, true}) {
          const int64_t outer = 40;
          Values x, expected;
          for (int64_t i = 0; i < outer * extent; ++i)
            x.push_back(static_cast<double>(i * i % 17 - 8)); // many elements are equal
          for (int64_t o = 0; o < outer; ++o) {
            std::vector<int64_t> order(static_cast<size_t>(extent));
            std::iota(order.begin(), order.end(), 0);
            auto at = [&](int64_t i) { return x[static_cast<size_t>(o * extent + i)]; };
            std::stable_sort(order.begin(), order.end(),
                             [&](int64_t a, int64_t b) { return smallest ? at(a) < at(b) : at(a) > at(b); });
            expected.insert(expected.end(), order.begin(), order.begin() + count);
          }
          for (int threads : {1, 2})
            EXPECT_EQ(runKernel("top_k", ranking(dtype, outer, extent, count, smallest),
                                {{dtype, x}, {fb::DType::i64, Values(expected.size())}}, threads),
                      expected);
        }
}

TEST(TopK, TakesNaNForTheLargest) {
  Values x = {1, NAN, 3, NAN, INFINITY};
  auto best = [&](bool smallest) {
    return runKernel("top_k", ranking(fb::DType::f32, 1, 5, 5, smallest),
                     {{fb::DType::f32, x}, {fb::DType::i64, Values(5)}}, 1);
  };
  EXPECT_EQ(best(false), (Values{1, 3, 4, 2, 0}));
  EXPECT_EQ(best(true), (Values{0, 2, 4, 1, 3}));
}

TEST(Argmax, FindsTheFirstMaximum) {
  KernelParams params(*findKernelDef("argmax"));
  params.set("dtype", int64_t(fb::DType::f32)).set("outer", 2).set("extent", 3).set("inner", 2);
  Values x = {1, 5, 4, 5, 4, 2, /**/ -1, NAN, -3, 9, -1, 9};
  EXPECT_EQ(runKernel("argmax", params, {{fb::DType::f32, x}, {fb::DType::i64, Values(4)}}, 1), (Values{1, 0, 0, 0}));
}

TEST(Argmax, TakesIntegers) {
  for (fb::DType dtype : {fb::DType::i32, fb::DType::i64}) {
    KernelParams params(*findKernelDef("argmax"));
    params.set("dtype", int64_t(dtype)).set("outer", 2).set("extent", 3).set("inner", 1);
    EXPECT_EQ(runKernel("argmax", params, {{dtype, {-5, 7, 7, -128, -1, -2}}, {fb::DType::i64, Values(2)}}, 1),
              (Values{1, 1}));
  }
}

TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    BFloat16 brain;
    brain.bits = static_cast<uint16_t>(bits);
    if (!std::isnan(static_cast<float>(half))) {
      EXPECT_EQ(Float16(static_cast<float>(half)).bits, bits);
    }
    if (!std::isnan(static_cast<float>(brain))) {
      EXPECT_EQ(BFloat16(static_cast<float>(brain)).bits, bits);
    }
  }
  EXPECT_EQ(static_cast<float>(Float16(2049.0f)), 2048.0f); // a tie, to even
  EXPECT_EQ(static_cast<float>(Float16(2051.0f)), 2052.0f);
  EXPECT_EQ(static_cast<float>(Float16(65520.0f)), INFINITY);
  EXPECT_EQ(static_cast<float>(Float16(0x1p-25f)), 0.0f);
  EXPECT_EQ(static_cast<float>(BFloat16(257.0f)), 256.0f);
}

} // namespace
