// Products, indexing and argmax against loops in float64.
#include "test/runtime/device/KernelHarness.h"

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

KernelParams paramsOf(const Product &p, fb::DType dtype, fb::DType out) {
  KernelParams params(*findKernelDef("matmul"));
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

// One chain of 4100 f32 additions would be off by 5e-7 of the result's norm.
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

KernelParams indexing(const char *name, fb::DType dtype, int64_t outer, int64_t rows, int64_t inner, int64_t indices) {
  KernelParams params(*findKernelDef(name));
  params.set("dtype", int64_t(dtype)).set("index_dtype", int64_t(fb::DType::i64)).set("outer", outer);
  params.set("rows", rows).set("inner", inner).set("indices", indices);
  return params;
}

TEST(Indexing, TakesAndAdds) {
  for (fb::DType dtype : {fb::DType::f32, fb::DType::f64})
    for (int64_t inner : {1, 5, 200}) {
      const int64_t outer = 2, rows = 6, count = 100;
      Values index, x = sine(static_cast<size_t>(outer * rows * inner), 3), taken, added = x;
      for (int64_t i = 0; i < count; ++i)
        index.push_back(static_cast<double>((i * i) % 11 - 5 > 5 ? 0 : (i * i) % 11 - 5));
      Values update = sine(static_cast<size_t>(outer * count * inner), 4);
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < count; ++i)
          for (int64_t r = 0; r < inner; ++r) {
            auto row = static_cast<int64_t>(index[static_cast<size_t>(i)]);
            auto at = static_cast<size_t>((o * rows + (row < 0 ? row + rows : row)) * inner + r);
            taken.push_back(x[at]);
            added[at] += update[static_cast<size_t>((o * count + i) * inner + r)];
          }
      for (int threads : {1, 2, 3}) {
        expectClose(runKernel("take", indexing("take", dtype, outer, rows, inner, count),
                              {{dtype, x}, {fb::DType::i64, index}, {dtype, Values(taken.size())}}, threads),
                    taken, 1e-6, "take");
        expectClose(runKernel("put_add", indexing("put_add", dtype, outer, rows, inner, count),
                              {{dtype, x}, {fb::DType::i64, index}, {dtype, update}, {dtype, Values(x.size())}},
                              threads),
                    added, toleranceOf(dtype), "put_add");
      }
    }
}

TEST(Indexing, RefusesIndicesOutOfRange) {
  for (double bad : {6.0, -7.0, 1e18}) {
    Status status;
    runKernel("take", indexing("take", fb::DType::f32, 1, 6, 2, 3),
              {{fb::DType::f32, Values(12)}, {fb::DType::i64, {0, 5, bad}}, {fb::DType::f32, Values(6)}}, 1, &status);
    EXPECT_NE(status.message().find("at position 2 is out of range; expected -6 to 5"), std::string::npos)
        << status.message();
  }
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
