// Generated host kernels compared with plain loops in double.
#include "test/compiler/Codegen/FunctionRunner.h"

#include "runtime/base/Philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

using namespace cleave::test;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

static Floats randomFloats(size_t count, unsigned seed, float low = -3, float high = 3) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  Floats values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

// |actual - expected| <= tolerance * max(|expected|, scale)
static void expectNear(const Floats &actual, const Doubles &expected, double tolerance, double scale = 1e-3) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance * std::max(std::abs(expected[i]), scale))
        << "at " << i << ": " << actual[i] << " instead of " << expected[i];
}

// Runs all iterations at once and in pieces. The bits must be equal.
static std::vector<Bytes> runWholeAndSplit(FunctionRunner &runner, const std::vector<Bytes> &inputs) {
  std::vector<Bytes> whole = runner.run(inputs);
  for (int64_t pieces : {2, 3, 7})
    EXPECT_EQ(whole, runner.run(inputs, pieces)) << pieces << " pieces";
  return whole;
}

static void expectNoLibm(const FunctionRunner &runner) {
  std::string rest = runner.getUndefined();
  for (const char *allowed : {"memcpy ", "memset ", "memmove "})
    if (size_t at = rest.find(allowed); at != std::string::npos)
      rest.erase(at, std::string(allowed).size());
  EXPECT_EQ(rest, "");
}

// Sums as long as a gradient's norm, a bias gradient and a batch-norm statistic. A single chain of additions in f32
// would have errors of 2e-7, 2.5e-6 and 5e-7.
TEST(HostKernels, LongSumsRoundLittle) {
  struct Case {
    std::string type, dims, result;
    int64_t outer, middle, inner; // [outer, middle, inner], summed over outer and inner
    double tolerance;
  };
  const Case cases[] = {{"1000001", "0", "", 1, 1, 1000001, 6e-8},
                        {"4099x65", "0", "65x", 4099, 65, 1, 2e-7},
                        {"8x33x26x26", "0, 2, 3", "33x", 8, 33, 676, 2.5e-7},
                        {"1025x3x3", "0, 2", "3x", 1025, 3, 3, 2e-7}};
  for (const Case &c : cases) {
    FunctionRunner runner("func.func @f(%x: tensor<" + c.type + "xf32>) -> tensor<" + c.result +
                          "f32> { %0 = cleave.reduce sum %x, [" + c.dims + "] : tensor<" + c.type + "xf32> -> tensor<" +
                          c.result + "f32> return %0 : tensor<" + c.result + "f32> }");
    ASSERT_EQ(runner.getError(), "");
    Floats x = randomFloats(size_t(c.outer * c.middle * c.inner), 1, 0, 2);
    Doubles expected(size_t(c.middle), 0);
    for (size_t i = 0; i < x.size(); ++i)
      expected[i / size_t(c.inner) % size_t(c.middle)] += x[i];
    expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), expected, c.tolerance);
  }
}

TEST(HostKernels, GeluOfBiasedInput) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<37x192xf32>, %b: tensor<192xf32>) -> tensor<37x192xf32> {
      %half = cleave.constant dense<0.5> : tensor<37x192xf32>
      %one = cleave.constant dense<1.0> : tensor<37x192xf32>
      %r = cleave.constant dense<0.70710678118> : tensor<37x192xf32>
      %bb = cleave.broadcast %b, [1] : tensor<192xf32> -> tensor<37x192xf32>
      %0 = cleave.add %x, %bb : tensor<37x192xf32>
      %1 = cleave.mul %0, %r : tensor<37x192xf32>
      %2 = cleave.erf %1 : tensor<37x192xf32>
      %3 = cleave.add %2, %one : tensor<37x192xf32>
      %4 = cleave.mul %0, %half : tensor<37x192xf32>
      %5 = cleave.mul %4, %3 : tensor<37x192xf32>
      return %5 : tensor<37x192xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  EXPECT_EQ(runner.getExtent(0), 37);
  expectNoLibm(runner);
  Floats x = randomFloats(37 * 192, 1), b = randomFloats(192, 2);
  Doubles expected;
  for (size_t i = 0; i < x.size(); ++i) {
    double v = double(x[i]) + b[i % 192];
    expected.push_back(0.5 * v * (1 + std::erf(v * 0.70710678118)));
  }
  // For negative v, 1 + erf cancels, so the error is relative to v, and not to the result.
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x), toBytes(b)})[0]), expected, 3e-6, 1.0);
}

static void checkSoftmax(bool log, int64_t rows, int64_t columns) {
  std::string type = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
  FunctionRunner runner("func.func @f(%x: " + type + ") -> " + type + " {\n %0 = cleave." +
                        (log ? "log_softmax" : "softmax") + " %x, dim = 1 : " + type + "\n return %0 : " + type +
                        "\n}");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  EXPECT_EQ(runner.getExtent(0), rows);
  expectNoLibm(runner);
  Floats x = randomFloats(rows * columns, 3, -20, 20);
  Doubles expected(x.size());
  for (int64_t row = 0; row < rows; ++row) {
    const float *in = &x[row * columns];
    double top = *std::max_element(in, in + columns), sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(in[c] - top);
    for (int64_t c = 0; c < columns; ++c)
      expected[row * columns + c] = log ? in[c] - top - std::log(sum) : std::exp(in[c] - top) / sum;
  }
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), expected, 2e-6, log ? 1.0 : 1e-12);
}
TEST(HostKernels, Softmax) { checkSoftmax(false, 13, 257); }
TEST(HostKernels, SoftmaxOfRowsBeyondTheRowBuffer) { checkSoftmax(false, 9, 100003); }
TEST(HostKernels, LogSoftmax) { checkSoftmax(true, 9, 1000); }

TEST(HostKernels, NormalizeRows) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<21x96xf32>, %g: tensor<96xf32>) -> (tensor<21x96xf32>, tensor<21xf32>, tensor<21xf32>) {
      %y, %m, %v = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<21x96xf32> -> tensor<21x96xf32>, tensor<21xf32>, tensor<21xf32>
      %gg = cleave.broadcast %g, [1] : tensor<96xf32> -> tensor<21x96xf32>
      %z = cleave.mul %y, %gg : tensor<21x96xf32>
      return %z, %m, %v : tensor<21x96xf32>, tensor<21xf32>, tensor<21xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  expectNoLibm(runner);
  Floats x = randomFloats(21 * 96, 4), g = randomFloats(96, 5);
  Doubles y, means, variances;
  for (int row = 0; row < 21; ++row) {
    double mean = 0, variance = 0;
    for (int c = 0; c < 96; ++c)
      mean += x[row * 96 + c] / 96.0;
    for (int c = 0; c < 96; ++c)
      variance += std::pow(x[row * 96 + c] - mean, 2) / 96;
    for (int c = 0; c < 96; ++c)
      y.push_back((x[row * 96 + c] - mean) / std::sqrt(variance + 1e-5) * g[c]);
    means.push_back(mean);
    variances.push_back(variance);
  }
  std::vector<Bytes> results = runWholeAndSplit(runner, {toBytes(x), toBytes(g)});
  expectNear(fromBytes<float>(results[0]), y, 1e-5, 1.0);
  expectNear(fromBytes<float>(results[1]), means, 1e-5, 1.0);
  expectNear(fromBytes<float>(results[2]), variances, 1e-5, 1.0);
}

// Batch norm over n and hw of [n, c, hw]. The inner reduced dimension is contiguous, and channels are the extent.
TEST(HostKernels, BatchNormReductions) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<1x6x5x49xf32>) -> (tensor<1x6x5x49xf32>, tensor<1x5xf32>, tensor<1x5xf32>) {
      %y, %m, %v = cleave.normalize %x, [1, 3], epsilon = 1.0e-5 : tensor<1x6x5x49xf32> -> tensor<1x6x5x49xf32>, tensor<1x5xf32>, tensor<1x5xf32>
      return %y, %m, %v : tensor<1x6x5x49xf32>, tensor<1x5xf32>, tensor<1x5xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  EXPECT_EQ(runner.getExtent(0), 5);
  Floats x = randomFloats(6 * 5 * 49, 6);
  Doubles y(x.size()), means, variances;
  for (int c = 0; c < 5; ++c) {
    double mean = 0, variance = 0;
    auto each = [&](const std::function<void(size_t)> &body) {
      for (int n = 0; n < 6; ++n)
        for (int i = 0; i < 49; ++i)
          body((n * 5 + c) * 49 + i);
    };
    each([&](size_t i) { mean += x[i] / 294.0; });
    each([&](size_t i) { variance += std::pow(x[i] - mean, 2) / 294; });
    each([&](size_t i) { y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5); });
    means.push_back(mean);
    variances.push_back(variance);
  }
  std::vector<Bytes> results = runWholeAndSplit(runner, {toBytes(x)});
  expectNear(fromBytes<float>(results[0]), y, 1e-5, 1.0);
  expectNear(fromBytes<float>(results[1]), means, 1e-5, 1.0);
  expectNear(fromBytes<float>(results[2]), variances, 1e-5, 1.0);
}

// Normalization over leading dimensions: accumulators are arrays along the columns, and there are several stages.
TEST(HostKernels, NormalizeColumns) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<31x300xf32>) -> (tensor<31x300xf32>, tensor<300xf32>, tensor<300xf32>) {
      %y, %m, %v = cleave.normalize %x, [0], epsilon = 1.0e-5 : tensor<31x300xf32> -> tensor<31x300xf32>, tensor<300xf32>, tensor<300xf32>
      return %y, %m, %v : tensor<31x300xf32>, tensor<300xf32>, tensor<300xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  EXPECT_EQ(runner.getExtent(0), 3);
  Floats x = randomFloats(31 * 300, 7);
  Doubles y(x.size());
  for (int c = 0; c < 300; ++c) {
    double mean = 0, variance = 0;
    for (int r = 0; r < 31; ++r)
      mean += x[r * 300 + c] / 31.0;
    for (int r = 0; r < 31; ++r)
      variance += std::pow(x[r * 300 + c] - mean, 2) / 31;
    for (int r = 0; r < 31; ++r)
      y[r * 300 + c] = (x[r * 300 + c] - mean) / std::sqrt(variance + 1e-5);
  }
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), y, 1e-5, 1.0);
}

TEST(HostKernels, ColumnSumOfProduct) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<4x50x200xf32>, %y: tensor<4x50x200xf32>) -> (tensor<200xf32>, tensor<200xf32>) {
      %0 = cleave.mul %x, %y : tensor<4x50x200xf32>
      %1 = cleave.reduce sum %0, [0, 1] : tensor<4x50x200xf32> -> tensor<200xf32>
      %2 = cleave.reduce sum %y, [0, 1] : tensor<4x50x200xf32> -> tensor<200xf32>
      return %1, %2 : tensor<200xf32>, tensor<200xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u) << "siblings that read the same values are one kernel";
  Floats x = randomFloats(40000, 8), y = randomFloats(40000, 9);
  Doubles products(200, 0), sums(200, 0);
  for (int i = 0; i < 40000; ++i) {
    products[i % 200] += double(x[i]) * y[i];
    sums[i % 200] += y[i];
  }
  std::vector<Bytes> results = runWholeAndSplit(runner, {toBytes(x), toBytes(y)});
  expectNear(fromBytes<float>(results[0]), products, 1e-5, 20);
  expectNear(fromBytes<float>(results[1]), sums, 1e-5, 20);
}

TEST(HostKernels, SumOfAllIsOneIteration) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<64x1000xf32>) -> tensor<f32> {
      %0 = cleave.mul %x, %x : tensor<64x1000xf32>
      %1 = cleave.reduce sum %0, [0, 1] : tensor<64x1000xf32> -> tensor<f32>
      %2 = cleave.sqrt %1 : tensor<f32>
      return %2 : tensor<f32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getExtent(0), 1);
  Floats x = randomFloats(64000, 10);
  double sum = 0;
  for (float v : x)
    sum += double(v) * v;
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), {std::sqrt(sum)}, 1e-5);
}

// Parameters and moments are updated in place: the results have no buffers of their own.
TEST(HostKernels, AdamInPlace) {
  FunctionRunner runner(R"(
    func.func @f(%p: tensor<10007xf32>, %m: tensor<10007xf32>, %v: tensor<10007xf32>, %g: tensor<10007xf32>, %lr: tensor<f32>)
        -> (tensor<10007xf32>, tensor<10007xf32>, tensor<10007xf32>) {
      %0:3 = cleave.kernel ins(%p, %m, %v, %g, %lr : tensor<10007xf32>, tensor<10007xf32>, tensor<10007xf32>, tensor<10007xf32>, tensor<f32>)
        -> tensor<10007xf32>, tensor<10007xf32>, tensor<10007xf32> attributes {tied = array<i64: 0, 1, 2>} {
      ^bb0(%p0: tensor<10007xf32>, %m0: tensor<10007xf32>, %v0: tensor<10007xf32>, %g0: tensor<10007xf32>, %lr0: tensor<f32>):
        %b1 = cleave.constant dense<0.9> : tensor<10007xf32>
        %c1 = cleave.constant dense<0.1> : tensor<10007xf32>
        %b2 = cleave.constant dense<0.95> : tensor<10007xf32>
        %c2 = cleave.constant dense<0.05> : tensor<10007xf32>
        %e = cleave.constant dense<1.0e-8> : tensor<10007xf32>
        %lr1 = cleave.broadcast %lr0, [] : tensor<f32> -> tensor<10007xf32>
        %m1 = cleave.mul %m0, %b1 : tensor<10007xf32>
        %m2 = cleave.mul %g0, %c1 : tensor<10007xf32>
        %m3 = cleave.add %m1, %m2 : tensor<10007xf32>
        %gg = cleave.mul %g0, %g0 : tensor<10007xf32>
        %v1 = cleave.mul %v0, %b2 : tensor<10007xf32>
        %v2 = cleave.mul %gg, %c2 : tensor<10007xf32>
        %v3 = cleave.add %v1, %v2 : tensor<10007xf32>
        %s = cleave.sqrt %v3 : tensor<10007xf32>
        %d = cleave.add %s, %e : tensor<10007xf32>
        %q = cleave.div %m3, %d : tensor<10007xf32>
        %u = cleave.mul %q, %lr1 : tensor<10007xf32>
        %p1 = cleave.sub %p0, %u : tensor<10007xf32>
        cleave.yield %p1, %m3, %v3 : tensor<10007xf32>, tensor<10007xf32>, tensor<10007xf32>
      }
      return %0#0, %0#1, %0#2 : tensor<10007xf32>, tensor<10007xf32>, tensor<10007xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getExtent(0), 3);
  expectNoLibm(runner);
  size_t n = 10007;
  Floats p = randomFloats(n, 11), m = randomFloats(n, 12), v = randomFloats(n, 13, 0, 1), g = randomFloats(n, 14);
  Doubles p1, m1, v1;
  for (size_t i = 0; i < n; ++i) {
    m1.push_back(m[i] * 0.9 + g[i] * 0.1);
    v1.push_back(v[i] * 0.95 + double(g[i]) * g[i] * 0.05);
    p1.push_back(p[i] - 0.01f * m1[i] / (std::sqrt(v1[i]) + 1e-8));
  }
  auto results = runWholeAndSplit(runner, {toBytes(p), toBytes(m), toBytes(v), toBytes(g), toBytes(Floats{0.01f})});
  expectNear(fromBytes<float>(results[0]), p1, 1e-6, 1.0);
  expectNear(fromBytes<float>(results[1]), m1, 1e-6, 1.0);
  expectNear(fromBytes<float>(results[2]), v1, 1e-6, 1.0);
}

// A result of the first stage overwrites the input, which the second stage still reads. So the store must wait.
TEST(HostKernels, TiedInputIsReadByLaterStages) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<6x40xf32>, %z: tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xf32>) {
      %0:2 = cleave.kernel ins(%x, %z : tensor<6x40xf32>, tensor<6x40xf32>) -> tensor<6x40xf32>, tensor<6x40xf32>
        attributes {tied = array<i64: 0, -1>} {
      ^bb0(%x0: tensor<6x40xf32>, %z0: tensor<6x40xf32>):
        %n = cleave.neg %x0 : tensor<6x40xf32>
        %s = cleave.reduce sum %z0, [1] : tensor<6x40xf32> -> tensor<6xf32>
        %b = cleave.broadcast %s, [0] : tensor<6xf32> -> tensor<6x40xf32>
        %q = cleave.mul %x0, %b : tensor<6x40xf32>
        %p = cleave.add %q, %z0 : tensor<6x40xf32>
        cleave.yield %n, %p : tensor<6x40xf32>, tensor<6x40xf32>
      }
      return %0#0, %0#1 : tensor<6x40xf32>, tensor<6x40xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x = randomFloats(240, 20), z = randomFloats(240, 21);
  Doubles negated, scaled;
  for (int i = 0; i < 240; ++i) {
    double sum = 0;
    for (int c = 0; c < 40; ++c)
      sum += z[i / 40 * 40 + c];
    negated.push_back(-x[i]);
    scaled.push_back(x[i] * sum + z[i]);
  }
  auto results = runWholeAndSplit(runner, {toBytes(x), toBytes(z)});
  expectNear(fromBytes<float>(results[0]), negated, 0);
  expectNear(fromBytes<float>(results[1]), scaled, 1e-5, 10);
}

// The bits of an element depend only on the bits of its operands. They are equal if a kernel computes only this
// element, if it reduces it, and if it computes it in one pass over its rows and again in another pass. Rows of 37
// elements are whole vectors and a rest.
TEST(HostKernels, ElementsHaveOneSetOfBits) {
  const std::string chain = R"(
      %0 = cleave.mul %a, %b : tensor<9x37xf32>
      %1 = cleave.mul %b, %b : tensor<9x37xf32>
      %2 = cleave.sub %0, %1 : tensor<9x37xf32>
      %3 = cleave.exp %2 : tensor<9x37xf32>
      %4 = cleave.mul %3, %a : tensor<9x37xf32>
      %5 = cleave.add %4, %2 : tensor<9x37xf32>
      %6 = cleave.mul %5, %5 : tensor<9x37xf32>
      %7 = cleave.tanh %5 : tensor<9x37xf32>
      %h = cleave.sub %7, %6 : tensor<9x37xf32>
  )";
  const std::string head = "func.func @f(%a: tensor<9x37xf32>, %b: tensor<9x37xf32>) -> ";
  FunctionRunner alone(head + "tensor<9x37xf32> {" + chain + "return %h : tensor<9x37xf32> }");
  FunctionRunner reduced(head + "(tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {" + chain + R"(
      %max = cleave.reduce max %h, [1] : tensor<9x37xf32> -> tensor<9xf32>
      %row = cleave.broadcast %max, [0] : tensor<9xf32> -> tensor<9x37xf32>
      %hit = cleave.compare eq %h, %row : tensor<9x37xf32>
      %one = cleave.cast %hit : tensor<9x37xi1> -> tensor<9x37xf32>
      %hits = cleave.reduce sum %one, [1] : tensor<9x37xf32> -> tensor<9xf32>
      %sum = cleave.reduce sum %h, [1] : tensor<9x37xf32> -> tensor<9xf32>
      return %max, %hits, %sum : tensor<9xf32>, tensor<9xf32>, tensor<9xf32> })");
  ASSERT_EQ(alone.getError() + reduced.getError(), "");
  std::vector<Bytes> inputs = {toBytes(randomFloats(333, 41)), toBytes(randomFloats(333, 42))};
  Floats h = fromBytes<float>(alone.run(inputs)[0]);
  std::vector<Bytes> rows = reduced.run(inputs);
  for (size_t row = 0; row < 9; ++row) {
    EXPECT_EQ(fromBytes<float>(rows[0])[row], *std::max_element(&h[row * 37], &h[row * 37] + 37)) << row;
    EXPECT_EQ(fromBytes<float>(rows[1])[row], 1) << row;
  }
}

// The reduction of a row reads values that the last pass overwrites: softmax in its input's buffer.
TEST(HostKernels, SoftmaxOverwritesItsInput) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<6x40xf32>) -> tensor<6x40xf32> {
      %0 = cleave.kernel ins(%x : tensor<6x40xf32>) -> tensor<6x40xf32> attributes {tied = array<i64: 0>} {
      ^bb0(%x0: tensor<6x40xf32>):
        %m = cleave.reduce max %x0, [1] : tensor<6x40xf32> -> tensor<6xf32>
        %mb = cleave.broadcast %m, [0] : tensor<6xf32> -> tensor<6x40xf32>
        %d = cleave.sub %x0, %mb : tensor<6x40xf32>
        %e = cleave.exp %d : tensor<6x40xf32>
        %s = cleave.reduce sum %e, [1] : tensor<6x40xf32> -> tensor<6xf32>
        %sb = cleave.broadcast %s, [0] : tensor<6xf32> -> tensor<6x40xf32>
        %q = cleave.div %e, %sb : tensor<6x40xf32>
        cleave.yield %q : tensor<6x40xf32>
      }
      return %0 : tensor<6x40xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x = randomFloats(240, 30);
  Doubles expected;
  for (int i = 0; i < 240; ++i) {
    double sum = 0;
    for (int c = 0; c < 40; ++c)
      sum += std::exp(double(x[i / 40 * 40 + c]));
    expected.push_back(std::exp(double(x[i])) / sum);
  }
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), expected, 1e-6, 1.0);
}

// The gradient of an activation: two results overwrite both inputs, which the column sum reads too.
TEST(HostKernels, ColumnSumReadsTiedInputs) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<37x130xf32>, %dy: tensor<37x130xf32>)
        -> (tensor<37x130xf32>, tensor<37x130xf32>, tensor<130xf32>) {
      %0:3 = cleave.kernel ins(%x, %dy : tensor<37x130xf32>, tensor<37x130xf32>)
        -> tensor<37x130xf32>, tensor<37x130xf32>, tensor<130xf32> attributes {tied = array<i64: 0, 1, -1>} {
      ^bb0(%a: tensor<37x130xf32>, %b: tensor<37x130xf32>):
        %t = cleave.tanh %a : tensor<37x130xf32>
        %p = cleave.mul %b, %a : tensor<37x130xf32>
        %d = cleave.mul %p, %t : tensor<37x130xf32>
        %s = cleave.reduce sum %d, [0] : tensor<37x130xf32> -> tensor<130xf32>
        cleave.yield %t, %d, %s : tensor<37x130xf32>, tensor<37x130xf32>, tensor<130xf32>
      }
      return %0#0, %0#1, %0#2 : tensor<37x130xf32>, tensor<37x130xf32>, tensor<130xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x = randomFloats(37 * 130, 31), dy = randomFloats(37 * 130, 32);
  Doubles activation, gradient, sums(130);
  for (size_t i = 0; i < x.size(); ++i) {
    activation.push_back(std::tanh(double(x[i])));
    gradient.push_back(double(dy[i]) * x[i] * activation.back());
    sums[i % 130] += gradient.back();
  }
  auto results = runWholeAndSplit(runner, {toBytes(x), toBytes(dy)});
  expectNear(fromBytes<float>(results[0]), activation, 1e-5, 1.0);
  expectNear(fromBytes<float>(results[1]), gradient, 1e-5, 1.0);
  expectNear(fromBytes<float>(results[2]), sums, 1e-5, 10.0);
}

TEST(HostKernels, TransposeMovesEveryElement) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<3x70x130xf32>) -> tensor<3x130x70xf32> {
      %0 = cleave.transpose %x, [0, 2, 1] : tensor<3x70x130xf32> -> tensor<3x130x70xf32>
      return %0 : tensor<3x130x70xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x = randomFloats(3 * 70 * 130, 15), y = fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]);
  for (int b = 0; b < 3; ++b)
    for (int i = 0; i < 70; ++i)
      for (int j = 0; j < 130; ++j)
        ASSERT_EQ(y[(b * 130 + j) * 70 + i], x[(b * 70 + i) * 130 + j]);
}

// The loss of every row, by comparing an iota with the label. No value of the size of the rows is stored.
TEST(HostKernels, MaskedCrossEntropyRows) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<11x257xf32>, %t: tensor<11xi64>) -> tensor<11xf32> {
      %l = cleave.log_softmax %x, dim = 1 : tensor<11x257xf32>
      %i = cleave.iota dim = 1 : tensor<11x257xi64>
      %tt = cleave.broadcast %t, [0] : tensor<11xi64> -> tensor<11x257xi64>
      %hit = cleave.compare eq %i, %tt : tensor<11x257xi64>
      %zero = cleave.constant dense<0.0> : tensor<11x257xf32>
      %picked = cleave.select %hit, %l, %zero : tensor<11x257xi1>, tensor<11x257xf32>
      %sum = cleave.reduce sum %picked, [1] : tensor<11x257xf32> -> tensor<11xf32>
      %loss = cleave.neg %sum : tensor<11xf32>
      return %loss : tensor<11xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  Floats x = randomFloats(11 * 257, 16);
  std::vector<int64_t> labels = {0, 256, -100, 3, 100, 99, 17, 1, 2, 255, 128}; // -100 is ignored: its loss is 0
  Doubles expected;
  for (int row = 0; row < 11; ++row) {
    double sum = 0;
    for (int c = 0; c < 257; ++c)
      sum += std::exp(double(x[row * 257 + c]));
    expected.push_back(labels[row] < 0 ? 0 : std::log(sum) - x[row * 257 + labels[row]]);
  }
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x), toBytes(labels)})[0]), expected, 2e-6, 1.0);
}

// A sum that picks one term has the term's value, whatever the other terms are: +0 for -0, and +0 if the index is
// outside of the row.
TEST(HostKernels, PickedTerms) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<8x5xf32>, %t: tensor<8xi64>, %o: tensor<2xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
      %tt = cleave.broadcast %t, [0] : tensor<8xi64> -> tensor<8x5xi64>
      %zero = cleave.constant dense<0.0> : tensor<8x5xf32>
      %i = cleave.iota dim = 1 : tensor<8x5xi64>
      %hit = cleave.compare eq %tt, %i : tensor<8x5xi64>
      %picked = cleave.select %hit, %x, %zero : tensor<8x5xi1>, tensor<8x5xf32>
      %sum = cleave.reduce sum %picked, [1] : tensor<8x5xf32> -> tensor<8xf32>
      %part = cleave.iota dim = 1 origin %o : tensor<2xi64> : tensor<8x5xi64>
      %partHit = cleave.compare eq %part, %tt : tensor<8x5xi64>
      %partPicked = cleave.select %partHit, %x, %zero : tensor<8x5xi1>, tensor<8x5xf32>
      %partSum = cleave.reduce sum %partPicked, [1] : tensor<8x5xf32> -> tensor<8xf32>
      return %sum, %partSum : tensor<8xf32>, tensor<8xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x(8 * 5, std::numeric_limits<float>::quiet_NaN());
  std::vector<int64_t> labels = {0, 4, 3, -1, 5, std::numeric_limits<int64_t>::min(), 1, int64_t(1) << 32},
                       origin = {0, 3};
  x[0] = 2, x[5 + 4] = -0.0f, x[2 * 5 + 3] = std::numeric_limits<float>::infinity(); // the picked elements
  x[5 + 1] = 7, x[2 * 5] = -3, x[4 * 5 + 2] = 9; // the picked elements of the part from 3 on
  auto results = runWholeAndSplit(runner, {toBytes(x), toBytes(labels), toBytes(origin)});
  Floats whole = fromBytes<float>(results[0]), part = fromBytes<float>(results[1]);
  Floats expected = {2, 0, std::numeric_limits<float>::infinity(), 0, 0, 0, x[6 * 5 + 1], 0};
  Floats expectedPart = {0, 7, -3, 0, 9, 0, 0, 0};
  for (int row = 0; row < 8; ++row) {
    EXPECT_TRUE(row == 6 ? std::isnan(whole[row]) : whole[row] == expected[row] && !std::signbit(whole[row])) << row;
    EXPECT_EQ(part[row], expectedPart[row]) << row;
  }
}

// Such a sum is not a reduction: its kernel may also have sums over other dimensions, and may pick from reduced values.
TEST(HostKernels, SumsOfPickedTerms) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<6x11x257xbf16>, %t: tensor<6x257xi32>) -> tensor<6xf32> {
      %wide = cleave.cast %x : tensor<6x11x257xbf16> -> tensor<6x11x257xf32>
      %i = cleave.iota dim = 1 : tensor<6x11x257xi32>
      %tt = cleave.broadcast %t, [0, 2] : tensor<6x257xi32> -> tensor<6x11x257xi32>
      %hit = cleave.compare eq %i, %tt : tensor<6x11x257xi32>
      %zero = cleave.constant dense<0.0> : tensor<6x11x257xf32>
      %picked = cleave.select %hit, %wide, %zero : tensor<6x11x257xi1>, tensor<6x11x257xf32>
      %sum = cleave.reduce sum %picked, [1] : tensor<6x11x257xf32> -> tensor<6x257xf32>
      %total = cleave.reduce sum %sum, [1] : tensor<6x257xf32> -> tensor<6xf32>
      return %total : tensor<6xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  EXPECT_EQ(runner.getNumKernels(), 1u);
  std::vector<uint16_t> x(6 * 11 * 257);
  std::vector<int32_t> labels(6 * 257);
  Doubles expected(6, 0.0);
  auto isBig = [](int i) { return i * 7 % 5 == 0; };
  for (int i = 0; i < 6 * 11 * 257; ++i)
    x[i] = isBig(i) ? 0x4000 : 0x3f80; // 2 or 1
  for (int i = 0; i < 6 * 257; ++i) {
    labels[i] = i % 13 - 1; // 11 and -1 are out of range
    if (labels[i] >= 0 && labels[i] < 11)
      expected[i / 257] += isBig((i / 257 * 11 + labels[i]) * 257 + i % 257) ? 2 : 1;
  }
  expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x), toBytes(labels)})[0]), expected, 1e-6, 1.0);
}

TEST(HostKernels, PhiloxIsTheRuntimes) {
  FunctionRunner runner(R"(
    func.func @f(%seed: tensor<i64>, %step: tensor<i64>) -> tensor<9x33xf32> {
      %u = cleave.random_uniform %seed, %step {site = 3 : i64, global_shape = array<i64: 9, 33>} : tensor<i64>, tensor<i64> -> tensor<9x33xf32>
      return %u : tensor<9x33xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  std::vector<int64_t> seed = {0x123456789abcdef}, step = {42};
  Floats u = fromBytes<float>(runWholeAndSplit(runner, {toBytes(seed), toBytes(step)})[0]);
  for (uint32_t i = 0; i < u.size(); ++i) {
    cleave::rt::Philox2 key = {uint32_t(seed[0]), uint32_t(uint64_t(seed[0]) >> 32)};
    ASSERT_EQ(u[i], cleave::rt::philoxUniform(cleave::rt::philox4x32(key, {i / 4, 0, 42, 3})[i % 4])) << i;
  }
}

TEST(HostKernels, NarrowTypesAreComputedInF32) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<100xbf16>, %b: tensor<100xui8>) -> (tensor<100xbf16>, tensor<100xi1>, tensor<100xui8>) {
      %0 = cleave.mul %x, %x : tensor<100xbf16>
      %1 = cleave.compare gt %0, %x : tensor<100xbf16>
      return %0, %1, %b : tensor<100xbf16>, tensor<100xi1>, tensor<100xui8>
    })");
  ASSERT_EQ(runner.getError(), "");
  std::vector<uint16_t> x;
  Floats values;
  for (int i = 0; i < 100; ++i) {
    float value = (i - 50) * 0.0625f;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    x.push_back(bits >> 16); // exact: seven bits are enough
    values.push_back(value);
  }
  auto results = runWholeAndSplit(runner, {toBytes(x), Bytes(100, 'b')});
  auto squares = fromBytes<uint16_t>(results[0]);
  for (int i = 0; i < 100; ++i) {
    uint32_t bits = uint32_t(squares[i]) << 16;
    float square;
    std::memcpy(&square, &bits, 4);
    EXPECT_NEAR(square, values[i] * values[i], values[i] * values[i] / 256) << i;
    EXPECT_EQ(results[1][i], square > values[i]) << i;
  }
}

// Sums of small products of large numbers, and products in which every second factor alone would overflow: over rows,
// over columns and over all elements.
TEST(HostKernels, ChainsOverflowOnlyWhereTheirTermsDo) {
  struct Case {
    std::string dims, result;
    std::function<size_t(size_t)> resultOf;
  };
  constexpr size_t kColumns = 64, kCount = 8 * kColumns;
  const Case cases[] = {{"1", "tensor<8xf32>", [](size_t i) { return i / kColumns; }},
                        {"0", "tensor<64xf32>", [](size_t i) { return i % kColumns; }},
                        {"0, 1", "tensor<f32>", [](size_t) { return 0; }}};
  auto reduced = [](const std::string &terms, const char *kind, const Case &c) {
    return "func.func @f(%x: tensor<8x64xf32>) -> " + c.result + " { " + terms + " %1 = cleave.reduce " + kind +
           " %0, [" + c.dims + "] : tensor<8x64xf32> -> " + c.result + " return %1 : " + c.result + " }";
  };
  for (const Case &c : cases) {
    size_t results = c.resultOf(kCount - 1) + 1;
    for (bool isProduct : {true, false}) {
      std::string number = isProduct ? "1.0e-30" : "1.0e+30", op = isProduct ? "mul" : "div";
      FunctionRunner runner(reduced("%c = cleave.constant dense<" + number + "> : tensor<8x64xf32> %0 = cleave." + op +
                                        " %x, %c : tensor<8x64xf32>",
                                    "sum", c));
      ASSERT_EQ(runner.getError(), "");
      FunctionRunner negated(reduced("%c = cleave.constant dense<" + number + "> : tensor<8x64xf32> %s = cleave." + op +
                                         " %x, %c : tensor<8x64xf32> %0 = cleave.neg %s : tensor<8x64xf32>",
                                     "sum", c));
      ASSERT_EQ(negated.getError(), "");
      Floats x = randomFloats(kCount, 40, 1e38f, 3e38f);
      Doubles sums(results, 0), opposites(results, 0);
      for (size_t i = 0; i < kCount; ++i)
        sums[c.resultOf(i)] += isProduct ? double(x[i]) * 1e-30f : double(x[i]) / 1e30f;
      for (size_t i = 0; i < results; ++i)
        opposites[i] = -sums[i];
      expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), sums, 1e-6);
      expectNear(fromBytes<float>(runWholeAndSplit(negated, {toBytes(x)})[0]), opposites, 1e-6);
    }
    FunctionRunner runner(reduced("%0 = cleave.neg %x : tensor<8x64xf32>", "product", c));
    ASSERT_EQ(runner.getError(), "");
    Floats x(kCount);
    Doubles products(results, 1);
    for (size_t i = 0; i < kCount; ++i) {
      x[i] = (i / kColumns + i) % 2 == 0 ? -1e30f : -1e-30f; // neighbours in rows and in columns are reciprocal
      products[c.resultOf(i)] *= -double(x[i]);
    }
    expectNear(fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]), products, 1e-4);
  }
}

// An index becomes a number of the iota's type immediately, whether it is stored or used.
TEST(HostKernels, IndicesAreRoundedToNarrowTypes) {
  for (const auto &[type, bits] : {std::pair("bf16", 8), std::pair("f16", 11)}) {
    std::string tensor = std::string("tensor<5001x") + type + ">";
    FunctionRunner runner("func.func @f(%x: tensor<5001xf32>) -> tensor<5001xf32> { %i = cleave.iota dim = 0 : " +
                          tensor + " %w = cleave.cast %i : " + tensor + " -> tensor<5001xf32> " +
                          "%0 = cleave.add %x, %w : tensor<5001xf32> return %0 : tensor<5001xf32> }");
    ASSERT_EQ(runner.getError(), "");
    EXPECT_EQ(runner.getNumKernels(), 1u);
    Floats y = fromBytes<float>(runWholeAndSplit(runner, {toBytes(Floats(5001, 0))})[0]);
    for (int i = 0; i < 5001; ++i) {
      int exponent = 0;
      std::frexp(i, &exponent);
      int unit = exponent > bits ? exponent - bits : 0; // the unit in the last place, as a power of two
      ASSERT_EQ(y[i], std::ldexp(std::nearbyint(std::ldexp(i, -unit)), unit)) << type << ' ' << i;
    }
  }
}

// Kernels read through a slice and a concatenation along the last dimension.
TEST(HostKernels, StridedSliceAndConcat) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<5x12xf32>) -> tensor<5x12xf32> {
      %a = cleave.slice %x, [0, 0], [5, 4], [1, 1] : tensor<5x12xf32> -> tensor<5x4xf32>
      %b = cleave.slice %x, [0, 4], [5, 8], [1, 1] : tensor<5x12xf32> -> tensor<5x8xf32>
      %n = cleave.neg %a : tensor<5x4xf32>
      %c = cleave.concat %b, %n dim = 1 : tensor<5x8xf32>, tensor<5x4xf32> -> tensor<5x12xf32>
      return %c : tensor<5x12xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x = randomFloats(60, 17), y = fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]);
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 12; ++c)
      ASSERT_EQ(y[r * 12 + c], c < 8 ? x[r * 12 + 4 + c] : -x[r * 12 + c - 8]);
}

TEST(HostKernels, PadWithInterior) {
  FunctionRunner runner(R"(
    func.func @f(%x: tensor<3x4xf32>) -> tensor<8x5xf32> {
      %0 = cleave.pad %x, [2, 0], [1, 1], [1, 0], value = 7.0 : tensor<3x4xf32> -> tensor<8x5xf32>
      return %0 : tensor<8x5xf32>
    })");
  ASSERT_EQ(runner.getError(), "");
  Floats x = randomFloats(12, 18), y = fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]);
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 5; ++c) {
      bool inside = r >= 2 && r < 7 && (r - 2) % 2 == 0 && c < 4;
      ASSERT_EQ(y[r * 5 + c], inside ? x[(r - 2) / 2 * 4 + c] : 7.0f) << r << ' ' << c;
    }
}

TEST(HostKernels, PortableTargetsCompileTheSame) {
  for (const char *target : {"host:generic", "host:avx2"}) {
    FunctionRunner runner(R"(
      func.func @f(%x: tensor<1000xf32>) -> tensor<1000xf32> {
        %0 = cleave.tanh %x : tensor<1000xf32>
        return %0 : tensor<1000xf32>
      })",
                          target);
    ASSERT_EQ(runner.getError(), "");
    expectNoLibm(runner);
    Floats x = randomFloats(1000, 19, -10, 10);
    Doubles expected;
    for (float v : x)
      expected.push_back(std::tanh(double(v)));
    expectNear(fromBytes<float>(runner.run({toBytes(x)})[0]), expected, 1e-6);
  }
  FunctionRunner wrong("func.func @f() { return }", "host:z80");
  EXPECT_NE(wrong.getError().find("expected host, host:generic"), std::string::npos) << wrong.getError();
}

// A gradient of tanh and its sums, in bf16. Without bf16 instructions, code converts by integers and never by library
// functions.
TEST(HostKernels, BFloat16NeedsNoLibraryOnPortableTargets) {
  const int64_t rows = 8, columns = 64;
  Floats a = randomFloats(rows * columns, 20), b = randomFloats(rows * columns, 21);
  auto rounded = [](Floats values) {
    std::vector<uint16_t> bits;
    for (float value : values) {
      uint32_t word;
      std::memcpy(&word, &value, sizeof word);
      bits.push_back(static_cast<uint16_t>(word >> 16)); // towards zero: any bf16 number will do
    }
    return bits;
  };
  auto widened = [](const std::vector<uint16_t> &bits) {
    Floats values;
    for (uint16_t half : bits) {
      uint32_t word = uint32_t(half) << 16;
      values.emplace_back();
      std::memcpy(&values.back(), &word, sizeof word);
    }
    return values;
  };
  auto x = rounded(a), y = rounded(b);
  Floats wideX = widened(x), wideY = widened(y);
  Doubles expected(columns, 0);
  for (int64_t i = 0; i < rows * columns; ++i) {
    double t = std::tanh(double(wideX[i]));
    expected[i % columns] += wideY[i] * (1 - t * t);
  }
  for (const char *target : {"host:generic", "host:avx2", "host"}) {
    FunctionRunner runner(R"(
      func.func @f(%a: tensor<8x64xbf16>, %b: tensor<8x64xbf16>) -> tensor<64xbf16> {
        %one = cleave.constant dense<1.0> : tensor<8x64xbf16>
        %wide = cleave.cast %a : tensor<8x64xbf16> -> tensor<8x64xf32>
        %0 = cleave.tanh %wide : tensor<8x64xf32>
        %t = cleave.cast %0 : tensor<8x64xf32> -> tensor<8x64xbf16>
        %1 = cleave.mul %t, %t : tensor<8x64xbf16>
        %2 = cleave.sub %one, %1 : tensor<8x64xbf16>
        %3 = cleave.mul %b, %2 : tensor<8x64xbf16>
        %4 = cleave.reduce sum %3, [0] : tensor<8x64xbf16> -> tensor<64xbf16>
        return %4 : tensor<64xbf16>
      })",
                          target);
    ASSERT_EQ(runner.getError(), "") << target;
    expectNoLibm(runner);
    auto sums = fromBytes<uint16_t>(runWholeAndSplit(runner, {toBytes(x), toBytes(y)})[0]);
    expectNear(widened(sums), expected, 0x1p-6, 4.0);
  }
}

// The nearest number with `digits` binary digits, ties to even. Below the normal numbers, the nearest multiple of
// 2^least.
static double roundedTo(double x, int digits, int least, double largest) {
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  int unit = std::max(exponent - digits, least);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::abs(rounded) > largest ? std::copysign(HUGE_VAL, x) : rounded;
}

// There is one rounding. Through f32, 1 + 2^-8 + 2^-40 would become 1 in bf16.
TEST(HostKernels, DoublesBecomeHalvesByOneRounding) {
  std::mt19937_64 random(22);
  Doubles x = {0.0,
               -0.0,
               HUGE_VAL,
               -HUGE_VAL,
               std::nan(""),
               1 + 0x1p-8 + 0x1p-40,
               1 + 0x1p-8 - 0x1p-40,
               1 + 0x1p-8,
               1 + 0x1p-11 + 0x1p-40,
               -(1 + 0x3p-8 - 0x1p-45),
               65520 - 0x1p-30,
               65519.999,
               0x1.ffp127,
               0x1.fefffffffp127,
               1e300,
               -1e-300,
               0x1p-134,
               0x1.0000001p-134,
               0x1p-25,
               0x1.00000001p-25};
  while (x.size() < 4096)
    x.push_back(std::ldexp(1.0 + double(random() >> 12) * 0x1p-52, int(random() % 320) - 170) *
                (random() % 2 ? 1 : -1));
  for (std::string type : {"bf16", "f16"})
    for (const char *target : {"host:generic", "host:avx2", "host"}) {
      FunctionRunner runner(
          "func.func @f(%x: tensor<4096xf64>) -> tensor<4096xf32> { %0 = cleave.cast %x : tensor<4096xf64> -> "
          "tensor<4096x" +
              type + "> %1 = cleave.cast %0 : tensor<4096x" + type +
              "> -> tensor<4096xf32> return %1 : tensor<4096xf32> }",
          target);
      ASSERT_EQ(runner.getError(), "") << target << " " << type;
      if (type == "bf16")
        expectNoLibm(runner);
      Floats y = fromBytes<float>(runWholeAndSplit(runner, {toBytes(x)})[0]);
      for (size_t i = 0; i < x.size(); ++i) {
        double expected = type == "bf16" ? roundedTo(x[i], 8, -133, 0x1.fep127) : roundedTo(x[i], 11, -24, 65504);
        ASSERT_TRUE(y[i] == expected || (std::isnan(y[i]) && std::isnan(expected)))
            << target << " " << type << " " << x[i] << ": " << y[i] << ", not " << expected;
        ASSERT_EQ(std::signbit(y[i]), std::signbit(expected) || (std::isnan(y[i]) && std::signbit(y[i])));
      }
    }
}

TEST(HostKernels, RefuseTensorsWithoutElements) {
  FunctionRunner runner("func.func @f(%a: tensor<4x0xf32>) -> tensor<4x0xf32> {\n"
                        "  %0 = cleave.exp %a : tensor<4x0xf32>\n  return %0 : tensor<4x0xf32>\n}");
  EXPECT_NE(runner.getError().find("it computes tensors without elements"), std::string::npos) << runner.getError();
}
