// The values of kernels compared with plain C++: the translation of PTX, warps, atomics, memory.
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/tests/DriverLibrary.h"
#include <cmath>
#include <random>

namespace cleave::emulated::test {
namespace {

class ValuesTest : public DriverTest {
protected:
  // Of the GPUs that Cleave compiles for, this one has the most instructions.
  static void SetUpTestSuite() { setenv("CLEAVE_EMULATED_CAPABILITY", "10.0", 0); }
  static std::vector<float> randomFloats(size_t n, float scale, unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> v(n);
    for (float &x : v)
      x = normal(generator);
    return v;
  }
  static void expectNear(float value, double expected, double relative, const std::string &what) {
    EXPECT_LE(std::fabs(value - expected), relative * std::max(1.0, std::fabs(expected)))
        << what << ": " << value << " for " << expected;
  }
};

void expectSoftmax(const std::vector<float> &x, const std::vector<float> &y, size_t n) {
  for (size_t row = 0; row < x.size() / n; row++) {
    const float *r = &x[row * n];
    double m = *std::max_element(r, r + n), s = 0;
    for (size_t i = 0; i < n; i++)
      s += std::exp(r[i] - m);
    for (size_t i = 0; i < n; i++) {
      double e = std::exp(r[i] - m) / s;
      ASSERT_LE(std::fabs(y[row * n + i] - e), 1e-5 * e + 1e-12) << row << " " << i;
    }
  }
}

TEST_F(ValuesTest, SoftmaxOfNvcc) {
  Module m(readText("values.ptx"));
  std::vector<float> x = randomFloats(6 * 1000, 4);
  Buffer<float> in(x), out(x.size());
  for (uint64_t seed = 1; seed <= 5; seed++) {
    setSeed(seed);
    ASSERT_EQ(launch(m.function("softmax"), {6, 256, 4000}, nullptr, in.address, out.address, 1000), code::Success);
    ASSERT_EQ(synchronize(), code::Success) << firstFinding();
    expectSoftmax(x, out.get(), 1000);
  }
}

TEST_F(ValuesTest, KernelsOfMlir) {
  Module m(readText("mlir_softmax.ptx"));
  std::vector<float> x = randomFloats(4 * 1024, 4);
  Buffer<float> in(x), out(x.size());
  ASSERT_EQ(launch(m.function("softmax"), {4, 256}, nullptr, in.address, out.address), code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  expectSoftmax(x, out.get(), 1024);

  // Rows of 4096 elements, of which 4001 are used: tanh of the normalized row times a gain. Atomics count the threads.
  std::vector<float> rows = randomFloats(2 * 4096, 1, 2), gain = randomFloats(4096, 1, 3);
  Buffer<float> wide(rows), result(rows), gains(gain);
  Buffer<int> count(std::vector<int>{0});
  ASSERT_EQ(launch(m.function("layernorm"), {2, 256}, nullptr, wide.address, result.address, gains.address, 4001,
                   count.address),
            code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  EXPECT_EQ(count.get()[0], 512);
  std::vector<float> y = result.get();
  for (int row = 0; row < 2; row++) {
    double sum = 0, squares = 0;
    for (int i = 0; i < 4001; i++) {
      sum += rows[size_t(row * 4096 + i)];
      squares += double(rows[size_t(row * 4096 + i)]) * rows[size_t(row * 4096 + i)];
    }
    double mean = sum / 4001, deviation = std::sqrt(squares / 4001 - mean * mean + 1e-5);
    for (int i = 0; i < 4001; i++) {
      size_t at = size_t(row * 4096 + i);
      expectNear(y[at], std::tanh((rows[at] - mean) / deviation) * gain[size_t(i)], 1e-5, "layer norm");
    }
  }
}

TEST_F(ValuesTest, MathsOfSinglePrecision) {
  Module m(readText("values.ptx"));
  std::vector<float> x = randomFloats(200, 3);
  x[0] = 0;
  x[1] = -0.0f;
  x[2] = 1e-30f;
  x[3] = 80;
  x[4] = -80;
  Buffer<float> in(x), out(12 * x.size());
  ASSERT_EQ(launch(m.function("maths"), {4, 64}, nullptr, in.address, out.address, int(x.size())), code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<float> y = out.get();
  for (size_t i = 0; i < x.size(); i++) {
    double v = x[i];
    float big = 1e4f * x[i];
    const double expected[] = {std::exp(v),
                               std::tanh(v),
                               std::erf(v),
                               std::log(double(std::fabs(x[i]) + 1e-3f)),
                               std::sin(double(big)),
                               std::cos(v),
                               1 / std::sqrt(double(std::fabs(x[i]) + 1e-3f)),
                               std::pow(std::fabs(v), double(1.7f)),
                               std::exp(v),
                               v / 3,
                               std::sqrt(std::fabs(v)),
                               v / 7};
    for (size_t k = 0; k < 12; k++)
      expectNear(y[12 * i + k], expected[k], k == 8 ? 1e-4 : 2e-6, "function " + std::to_string(k));
  }
}

TEST_F(ValuesTest, Doubles) {
  Module m(readText("values.ptx"));
  std::vector<double> x = {0, 1, -2.5, 3.25, 700, -700, 0.05, 1e-300};
  Buffer<double> in(x), out(4 * x.size());
  ASSERT_EQ(launch(m.function("doubles"), {1, 32}, nullptr, in.address, out.address, int(x.size())), code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<double> y = out.get();
  for (size_t i = 0; i < x.size(); i++) {
    EXPECT_LE(std::fabs(y[4 * i] - std::exp(x[i])), 1e-15 * std::exp(x[i]));
    EXPECT_EQ(y[4 * i + 1], x[i] / 3);
    EXPECT_EQ(y[4 * i + 2], std::sqrt(std::fabs(x[i])));
    EXPECT_EQ(y[4 * i + 3], std::nearbyint(x[i] * 10));
  }
}

uint64_t choose(uint32_t u, uint32_t v) {
  switch (u % 7) {
  case 0:
    return 3;
  case 1:
    return u ^ v;
  case 2:
    return uint32_t(u + 2 * v);
  case 3:
    return 17;
  case 4:
    return u & v;
  case 5:
    return u | v;
  default:
    return uint32_t(~u);
  }
}

TEST_F(ValuesTest, Integers) {
  Module m(readText("values.ptx"));
  std::mt19937 generator(7);
  std::vector<uint32_t> a(200), b(200);
  for (size_t i = 0; i < a.size(); i++) {
    a[i] = i % 3 ? uint32_t(generator()) : uint32_t(generator()) >> (i % 32);
    b[i] = i % 5 ? uint32_t(generator()) : uint32_t(generator()) >> (i % 32);
  }
  a[0] = b[1] = 0;
  a[2] = 0x80000000;
  b[2] = 0xffffffff;
  Buffer<uint32_t> x(a), y(b);
  Buffer<uint64_t> out(14 * a.size());
  ASSERT_EQ(launch(m.function("integers"), {4, 64}, nullptr, x.address, y.address, out.address, int(a.size())),
            code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<uint64_t> r = out.get();
  for (size_t i = 0; i < a.size(); i++) {
    uint32_t u = a[i], v = b[i], permuted = 0, reversed = 0;
    for (int k = 0; k < 4; k++)
      permuted |= uint32_t((uint64_t(v) << 32 | u) >> (8 * (v >> (4 * k) & 7)) & 255) << (8 * k);
    for (int k = 0; k < 32; k++)
      reversed |= (u >> k & 1) << (31 - k);
    auto funnel = uint32_t((uint64_t(v) << 32 | u) << (v & 31) >> 32);
    const uint64_t expected[] = {uint64_t(u) * v >> 32,
                                 uint64_t(u) * v,
                                 uint64_t(int64_t(int32_t(u)) * int32_t(v)),
                                 v ? u / v : 0,
                                 v ? u % v : 0,
                                 u ? uint64_t(__builtin_clz(u)) : 32,
                                 uint64_t(__builtin_popcount(u)),
                                 reversed,
                                 permuted,
                                 funnel,
                                 uint32_t(int32_t(u) >> (v & 31)),
                                 uint32_t(std::max(int32_t(u), int32_t(v))),
                                 uint64_t(__builtin_ffs(int(u))),
                                 choose(u, v)};
    for (size_t k = 0; k < 14; k++)
      EXPECT_EQ(r[14 * i + k], expected[k]) << "operation " << k << " of " << u << " and " << v;
  }
}

int32_t toInt(float v, double (*round)(double)) {
  double r = round(double(v));
  return std::isnan(v) ? 0 : r >= 2147483647.0 ? 2147483647 : r <= -2147483648.0 ? -2147483647 - 1 : int32_t(r);
}

TEST_F(ValuesTest, Conversions) {
  Module m(readText("values.ptx"));
  std::vector<float> x = randomFloats(200, 100);
  const float special[] = {0.0f,        -0.0f,           INFINITY, -INFINITY, NAN,  1e-8f, 6e-8f,
                           65519.9f,    65520.0f,        3e9f,     -3e9f,     2.5f, -2.5f, 1.00390625f,
                           1.01171875f, 5.96046448e-08f, 3.4e38f};
  std::copy(std::begin(special), std::end(special), x.begin());
  Buffer<float> in(x);
  Buffer<uint32_t> out(10 * x.size());
  ASSERT_EQ(launch(m.function("conversions"), {4, 64}, nullptr, in.address, out.address, int(x.size())), code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<uint32_t> y = out.get();
  auto half = [](float v) { // the compiler's own conversion
    auto h = static_cast<_Float16>(v);
    uint16_t bits;
    memcpy(&bits, &h, 2);
    return bits;
  };
  for (size_t i = 0; i < x.size(); i++) {
    float v = x[i];
    const uint32_t *r = &y[10 * i];
    auto bits = bitsAs<uint32_t>(v);
    if (!std::isnan(v)) {
      EXPECT_EQ(r[0], half(v)) << v;
      EXPECT_EQ(r[1], floatToBf16(v)) << v;
      EXPECT_EQ(r[7], half(float(static_cast<_Float16>(v)) + float(static_cast<_Float16>(0.1f)))) << v;
    } else {
      EXPECT_EQ(r[0] & 0x7c00, 0x7c00u);
      EXPECT_NE(r[0] & 0x3ff, 0u);
    }
    if ((bits >> 10 & 31) != 31) {
      _Float16 h;
      auto low = uint16_t(bits);
      memcpy(&h, &low, 2);
      EXPECT_EQ(r[2], bitsAs<uint32_t>(float(h))) << v;
    }
    EXPECT_EQ(int32_t(r[3]), toInt(v, std::trunc)) << v;
    EXPECT_EQ(r[4], std::isnan(v) || v < 0 ? 0u
                    : v >= 4294967296.0f   ? 0xffffffffu
                                           : uint32_t(std::nearbyint(double(v))))
        << v;
    EXPECT_EQ(int32_t(r[5]), toInt(v, std::floor)) << v;
    EXPECT_EQ(r[6], bitsAs<uint32_t>(float(int32_t(bits)))) << v;
    double product = double(bf16ToFloat(floatToBf16(v))) * 1.5 + double(bf16ToFloat(floatToBf16(0.3f)));
    if (!std::isnan(v)) {
      EXPECT_EQ(r[8], doubleToBf16(product)) << v;
      EXPECT_EQ(r[9], uint32_t(floatToBf16(v)) | uint32_t(floatToBf16(2 * v)) << 16) << v;
    }
  }
}

// add, sub and fma of f32 with narrower numbers, which LLVM makes for sm_100. Rounded once: the fma of 1 + 2^-7 with
// itself and of -1 has more bits than f32.
TEST_F(ValuesTest, MixedTypes) {
  if (!d.isEmulated)
    GTEST_SKIP() << "needs a device of capability 10.0";
  for (const char *type : {"bf16", "f16"}) {
    std::string text = R"(
.version 8.6
.target sm_100
.address_size 64
.visible .entry mixed(.param .u64 a, .param .u64 c, .param .u64 y) {
  .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .f32 %f<6>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [c]; ld.param.u64 %rd3, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd4, %r1, 2; add.s64 %rd5, %rd1, %rd4; ld.global.b16 %h1, [%rd5];
  mul.wide.u32 %rd4, %r1, 4; add.s64 %rd6, %rd2, %rd4; ld.global.f32 %f1, [%rd6];
  mul.wide.u32 %rd4, %r1, 16; add.s64 %rd7, %rd3, %rd4;
  add.rn.f32.TYPE %f2, %h1, %f1;
  sub.rn.f32.TYPE %f3, %h1, %f1;
  fma.rn.f32.TYPE %f4, %h1, %h1, %f1;
  add.rz.sat.f32.TYPE %f5, %h1, %f1;
  st.global.f32 [%rd7], %f2; st.global.f32 [%rd7+4], %f3; st.global.f32 [%rd7+8], %f4; st.global.f32 [%rd7+12], %f5;
  ret;
}
)";
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
      text.replace(at, 4, type);
    bool isBrain = type[0] == 'b';
    std::vector<float> a = randomFloats(32, 3), c = randomFloats(32, 0.01f, 2);
    a[0] = 1.0078125f, c[0] = -1;
    a[1] = 0.5f, c[1] = 1e-8f; // rounds to the nearest, and toward 0
    a[2] = 2, c[2] = 3e-9f;
    std::vector<uint16_t> narrow;
    for (float &v : a) {
      narrow.push_back(isBrain ? floatToBf16(v) : floatToF16(v));
      v = isBrain ? bf16ToFloat(narrow.back()) : f16ToFloat(narrow.back());
    }
    Module m(text);
    Buffer<uint16_t> x(narrow);
    Buffer<float> addends(c), out(4 * a.size());
    ASSERT_EQ(launch(m.function("mixed"), {1, 32}, nullptr, x.address, addends.address, out.address), code::Success);
    ASSERT_EQ(synchronize(), code::Success) << firstFinding();
    std::vector<float> y = out.get();
    for (size_t i = 0; i < a.size(); i++) {
      EXPECT_EQ(y[4 * i], a[i] + c[i]) << type << " " << i;
      EXPECT_EQ(y[4 * i + 1], a[i] - c[i]) << type << " " << i;
      EXPECT_EQ(y[4 * i + 2], std::fma(a[i], a[i], c[i])) << type << " " << i;
      double sum = double(a[i]) + double(c[i]);
      auto toZero = float(sum);
      if (std::fabs(double(toZero)) > std::fabs(sum))
        toZero = std::nextafter(toZero, 0.0f);
      EXPECT_EQ(y[4 * i + 3], std::min(std::max(toZero, 0.0f), 1.0f)) << type << " " << i;
    }
  }
}

TEST_F(ValuesTest, Warps) {
  Module m(readText("values.ptx"));
  std::vector<uint32_t> x(32);
  for (uint32_t i = 0; i < 32; i++)
    x[i] = i * 7 % 41;
  Buffer<uint32_t> in(x), out(8 * 32);
  if (d.isEmulated == false)
    GTEST_LOG_(INFO) << "on a real device";
  ASSERT_EQ(launch(m.function("warps"), {1, 32}, nullptr, in.address, out.address), code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<uint32_t> y = out.get();
  uint32_t ballot = 0, any = 0, all = 1, sum = 0, most = 0;
  for (uint32_t i = 0; i < 32; i++) {
    ballot |= (x[i] & 1) << i;
    any |= x[i] == 5;
    all &= x[i] < 100;
    sum += x[i];
    most = std::max(most, x[i]);
  }
  for (uint32_t t = 0; t < 32; t++) {
    uint32_t same = 0;
    for (uint32_t i = 0; i < 32; i++)
      same |= uint32_t(x[i] % 4 == x[t] % 4) << i;
    const uint32_t expected[] = {
        ballot, any | all << 1, same, sum, most, x[(t + 5) % 32], t % 16 >= 3 ? x[t - 3] : x[t], t < 8 ? x[t ^ 3] : 0};
    for (size_t k = 0; k < 8; k++)
      EXPECT_EQ(y[8 * t + k], expected[k]) << "lane " << t << " operation " << k;
  }
}

TEST_F(ValuesTest, Atomics) {
  Module m(readText("values.ptx"));
  std::vector<uint32_t> x(500), counts(17, 0), least{0xffffffff};
  for (uint32_t i = 0; i < 500; i++)
    x[i] = (i * 2654435761u) >> 7;
  Buffer<uint32_t> in(x), count(counts), low(least);
  Buffer<float> sum(std::vector<float>{0});
  ASSERT_EQ(launch(m.function("atomics"), {4, 128}, nullptr, in.address, count.address, sum.address, low.address, 500),
            code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  float expectedSum = 0;
  uint32_t expectedLow = 0xffffffff;
  for (uint32_t v : x) {
    counts[v % 16]++;
    expectedSum += float(v % 8);
    expectedLow = std::min(expectedLow, v);
  }
  counts[16] = 500;
  EXPECT_EQ(count.get(), counts);
  EXPECT_EQ(sum.get()[0], expectedSum);
  EXPECT_EQ(low.get()[0], expectedLow);
}

TEST_F(ValuesTest, CallsConstantsVariables) {
  Module m(readText("values.ptx"));
  struct Four {
    float v[4];
  } a = {{1, 2, 3, 4}};
  std::vector<int> index = {0, 7, 3, 2};
  Buffer<int> in(index);
  Buffer<float> out(4);
  ASSERT_EQ(launch(m.function("calls"), {1, 4}, nullptr, a, in.address, out.address), code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<float> y = out.get();
  for (size_t t = 0; t < 4; t++)
    EXPECT_EQ(y[t], 1 + 1 + 0.75f + 0.5f + 2.0f * float(index[t]));
  uint64_t variable = 0;
  size_t bytes = 0;
  ASSERT_EQ(d.call("cuModuleGetGlobal_v2", &variable, &bytes, m.handle, "launches"), code::Success);
  EXPECT_EQ(bytes, 4u);
  int launches = 0;
  ASSERT_EQ(d.call("cuMemcpyDtoH_v2", static_cast<void *>(&launches), variable, sizeof launches), code::Success);
  EXPECT_EQ(launches, 4);
}

TEST_F(ValuesTest, VectorsAndBlocksThatHandOver) {
  Module m(readText("values.ptx"));
  std::vector<float> x = randomFloats(64, 1);
  Buffer<float> in(x), out(64), partial(16), total(1);
  Buffer<unsigned> count(std::vector<unsigned>{0});
  ASSERT_EQ(launch(m.function("vectors"), {2, 8}, nullptr, in.address, out.address, 16), code::Success);
  ASSERT_EQ(
      launch(m.function("last_block"), {16, 32}, nullptr, in.address, partial.address, count.address, total.address),
      code::Success);
  ASSERT_EQ(synchronize(), code::Success) << firstFinding();
  std::vector<float> y = out.get();
  float sum = 0;
  for (size_t i = 0; i < 64; i++)
    EXPECT_EQ(y[i], x[i / 4 * 4 + 3 - i % 4]);
  for (size_t i = 0; i < 16; i++)
    sum += x[i];
  EXPECT_EQ(total.get()[0], sum);
}

} // namespace
} // namespace cleave::emulated::test
