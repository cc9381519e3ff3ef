// Compares forward values of ops with plain loops in this file, written only from the ops' documentation. The
// gradients' test only shows that forward and backward agree. This one shows that the forward is what its name says.
#include "test/dialects/Cleave/ReferenceProgram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace cleave::test;

// Runs `func.func @f` with a body given as text. %0, %1, ... are the arguments.
static Array evaluate(const std::string &arguments, const std::string &op, const std::string &result,
                      const Arrays &inputs) {
  std::string source =
      "func.func @f(" + arguments + ") -> " + result + " {\n  %r = " + op + "\n  return %r : " + result + "\n}\n";
  SCOPED_TRACE(source);
  auto program = ReferenceProgram::compile(source);
  EXPECT_TRUE(program);
  return program ? program->run("f", inputs)[0] : Array();
}

static void expectNear(const Array &got, const Array &expected, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
}

// Numbers without a pattern: fractional parts of multiples of the golden ratio, scaled to [-2, 2).
static Array numbers(size_t count, double phase = 0) {
  Array values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::fmod((i + 1 + phase) * 0.6180339887498949, 1.0) * 4 - 2;
  return values;
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

TEST(ForwardTest, Unary) {
  std::vector<std::pair<std::string, std::function<double(double)>>> cases = {
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"sign", [](double x) { return double((x > 0) - (x < 0)); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"relu", [](double x) { return x > 0 ? x : 0; }}};
  Array x = numbers(9);
  x.insert(x.end(), {0.0, 0.5, 1.5, -0.5});
  for (auto &[name, function] : cases) {
    SCOPED_TRACE(name);
    Array expected;
    for (double value : x)
      expected.push_back(function(value));
    expectNear(evaluate("%0: tensor<13xf64>", "cleave." + name + " %0 : tensor<13xf64>", "tensor<13xf64>", {x}),
               expected);
  }
}

TEST(ForwardTest, PositiveUnary) {
  Array x = {0.25, 1, 2.5, 7};
  std::vector<std::pair<std::string, std::function<double(double)>>> cases = {
      {"log", [](double v) { return std::log(v); }},
      {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }}};
  for (auto &[name, function] : cases) {
    SCOPED_TRACE(name);
    Array expected;
    for (double value : x)
      expected.push_back(function(value));
    expectNear(evaluate("%0: tensor<4xf64>", "cleave." + name + " %0 : tensor<4xf64>", "tensor<4xf64>", {x}), expected);
  }
}

TEST(ForwardTest, UnaryUpToOne) {
  Array x = {-1, -0.97, -0.3, 0, 1e-9, 0.5, 0.8, 1};
  for (auto &[name, function] :
       std::vector<std::pair<std::string, double (*)(double)>>{{"asin", std::asin}, {"acos", std::acos}}) {
    SCOPED_TRACE(name);
    Array expected;
    for (double value : x)
      expected.push_back(function(value));
    expectNear(evaluate("%0: tensor<8xf64>", "cleave." + name + " %0 : tensor<8xf64>", "tensor<8xf64>", {x}), expected);
  }
}

TEST(ForwardTest, Binary) {
  std::vector<std::pair<std::string, std::function<double(double, double)>>> cases = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"min", [](double a, double b) { return std::min(a, b); }},
      {"rem", [](double a, double b) { return std::fmod(a, b); }}};
  Array a = numbers(6), b = numbers(6, 0.3);
  for (auto &[name, function] : cases) {
    SCOPED_TRACE(name);
    Array expected;
    for (size_t i = 0; i < a.size(); ++i)
      expected.push_back(function(a[i], b[i]));
    expectNear(evaluate("%0: tensor<2x3xf64>, %1: tensor<2x3xf64>", "cleave." + name + " %0, %1 : tensor<2x3xf64>",
                        "tensor<2x3xf64>", {a, b}),
               expected);
  }
}

TEST(ForwardTest, IntegersCompareSelectCast) {
  auto integers = [](const std::string &op, const Array &a, const Array &b) {
    return evaluate("%0: tensor<4xi64>, %1: tensor<4xi64>", "cleave." + op + " %0, %1 : tensor<4xi64>", "tensor<4xi64>",
                    {a, b});
  };
  expectNear(integers("div", {7, -7, 7, 5}, {2, 2, -2, 0}), {3, -3, -3, 0});
  expectNear(integers("rem", {7, -7, 7, 5}, {2, 2, -2, 0}), {1, -1, 1, 0});
  expectNear(integers("and", {12, 10, 7, 0}, {10, 3, 4, 9}), {8, 2, 4, 0});
  double nan = std::nan("");
  auto compare = [&](const std::string &predicate) {
    return evaluate("%0: tensor<4xf64>, %1: tensor<4xf64>", "cleave.compare " + predicate + " %0, %1 : tensor<4xf64>",
                    "tensor<4xi1>", {{1, 2, 3, nan}, {2, 2, 2, nan}});
  };
  expectNear(compare("lt"), {1, 0, 0, 0});
  expectNear(compare("ge"), {0, 1, 1, 0});
  expectNear(compare("ne"), {1, 0, 1, 1});
  expectNear(evaluate("%0: tensor<2xi1>, %1: tensor<2xf64>, %2: tensor<2xf64>",
                      "cleave.select %0, %1, %2 : tensor<2xi1>, tensor<2xf64>", "tensor<2xf64>",
                      {{1, 0}, {1, 2}, {3, 4}}),
             {1, 4});
  expectNear(evaluate("%0: tensor<4xf64>", "cleave.cast %0 : tensor<4xf64> -> tensor<4xi32>", "tensor<4xi32>",
                      {{1.9, -1.9, 1e12, -1e12}}),
             {1, -1, 2147483647.0, -2147483648.0});
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST(ForwardTest, Reduce) {
  Array x = numbers(24); // [2, 3, 4], reduced over 0 and 2
  std::vector<std::tuple<std::string, double, std::function<double(double, double)>>> kinds = {
      {"sum", 0, [](double a, double b) { return a + b; }},
      {"product", 1, [](double a, double b) { return a * b; }},
      {"max", -INFINITY, [](double a, double b) { return std::max(a, b); }},
      {"min", INFINITY, [](double a, double b) { return std::min(a, b); }}};
  for (auto &[kind, initial, combine] : kinds) {
    SCOPED_TRACE(kind);
    Array expected(3, initial);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k)
          expected[j] = combine(expected[j], x[(i * 3 + j) * 4 + k]);
    expectNear(evaluate("%0: tensor<2x3x4xf64>",
                        "cleave.reduce " + kind + " %0, [0, 2] : tensor<2x3x4xf64> -> tensor<3xf64>", "tensor<3xf64>",
                        {x}),
               expected);
  }
}

TEST(ForwardTest, ArgMaxTakesTheFirst) {
  expectNear(evaluate("%0: tensor<2x3x2xf64>", "cleave.argmax %0, dim = 1 : tensor<2x3x2xf64> -> tensor<2x2xi64>",
                      "tensor<2x2xi64>", {{1, 5, 3, 5, 3, 2, -1, -9, -2, -8, -3, -7}}),
             {1, 0, 0, 2});
}

TEST(ForwardTest, SoftmaxOfLargeNumbers) {
  Array x = {1000, 1001, 1002, -1000, -1000, -1000};
  double e0 = std::exp(-2.0), e1 = std::exp(-1.0), sum = e0 + e1 + 1;
  std::string type = "tensor<2x3xf64>";
  expectNear(evaluate("%0: " + type, "cleave.softmax %0, dim = 1 : " + type, type, {x}),
             {e0 / sum, e1 / sum, 1 / sum, 1. / 3, 1. / 3, 1. / 3});
  double log = std::log(sum), third = std::log(3.0);
  expectNear(evaluate("%0: " + type, "cleave.log_softmax %0, dim = 1 : " + type, type, {x}),
             {-2 - log, -1 - log, -log, -third, -third, -third});
}

// The mean is a million, in f32: E[x^2] - E[x]^2 would have no correct digit.
TEST(ForwardTest, NormalizeIsStable) {
  Array x = {1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3};
  std::string type = "tensor<1x4xf32>";
  std::string source = "func.func @f(%0: " + type + ") -> (" + type + ", tensor<1xf32>, tensor<1xf32>) {\n" +
                       "  %r:3 = cleave.normalize %0, [1], epsilon = 0.0 : " + type + " -> " + type +
                       ", tensor<1xf32>, tensor<1xf32>\n  return %r#0, %r#1, %r#2 : " + type +
                       ", tensor<1xf32>, tensor<1xf32>\n}\n";
  auto program = ReferenceProgram::compile(source);
  ASSERT_TRUE(program);
  Arrays got = program->run("f", {x});
  double deviation = std::sqrt(1.25);
  expectNear(got[0], {-1.5 / deviation, -0.5 / deviation, 0.5 / deviation, 1.5 / deviation}, 1e-6);
  expectNear(got[1], {1e6 + 1.5}, 1e-7);
  expectNear(got[2], {1.25}, 1e-6);
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

TEST(ForwardTest, MatmulAllTranspositions) {
  const int B = 2, M = 2, N = 4, K = 3;
  for (int bits = 0; bits < 16; ++bits) {
    bool tl = bits & 1, tr = bits & 2, shared = bits & 4, hasBias = bits & 8;
    Array a = numbers(B * M * K), b = numbers((shared ? 1 : B) * K * N, 0.7), bias = numbers(N, 0.3), c(B * M * N);
    for (int i = 0; i < B; ++i)
      for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
          c[(i * M + m) * N + n] = hasBias ? bias[n] : 0;
          for (int k = 0; k < K; ++k)
            c[(i * M + m) * N + n] += a[i * M * K + (tl ? k * M + m : m * K + k)] *
                                      b[(shared ? 0 : i) * K * N + (tr ? n * K + k : k * N + n)];
        }
    std::string lhs = tl ? "tensor<2x3x2xf64>" : "tensor<2x2x3xf64>";
    std::string rhs = std::string("tensor<") + (shared ? "" : "2x") + (tr ? "4x3" : "3x4") + "xf64>";
    std::string flags =
        std::string("{") + (tl ? "transpose_lhs" : "") + (tl && tr ? ", " : "") + (tr ? "transpose_rhs" : "") + "}";
    expectNear(evaluate("%0: " + lhs + ", %1: " + rhs + ", %2: tensor<4xf64>",
                        "cleave.matmul %0, %1 " + std::string(hasBias ? "bias %2 " : "") + flags + " : " + lhs + ", " +
                            rhs + (hasBias ? ", tensor<4xf64>" : "") + " -> tensor<2x2x4xf64>",
                        "tensor<2x2x4xf64>", {a, b, bias}),
               c);
  }
}

// x [2, 4, 5], w [6, 2, 2], two groups, stride 2, dilation 2, padding 1: y [2, 6, 3].
TEST(ForwardTest, Convolution) {
  Array x = numbers(2 * 4 * 5), w = numbers(6 * 2 * 2, 0.4), y(2 * 6 * 3);
  for (int n = 0; n < 2; ++n)
    for (int oc = 0; oc < 6; ++oc)
      for (int o = 0; o < 3; ++o)
        for (int c = 0; c < 2; ++c)
          for (int k = 0; k < 2; ++k) {
            int i = o * 2 - 1 + k * 2, ic = oc / 3 * 2 + c;
            if (i >= 0 && i < 5)
              y[(n * 6 + oc) * 3 + o] += x[(n * 4 + ic) * 5 + i] * w[(oc * 2 + c) * 2 + k];
          }
  expectNear(evaluate("%0: tensor<2x4x5xf64>, %1: tensor<6x2x2xf64>",
                      "cleave.convolution %0, %1 {strides = array<i64: 2>, dilations = array<i64: 2>, pad_low = "
                      "array<i64: 1>, pad_high = array<i64: 1>, groups = 2 : i64} : tensor<2x4x5xf64>, "
                      "tensor<6x2x2xf64> -> tensor<2x6x3xf64>",
                      "tensor<2x6x3xf64>", {x, w}),
             y);
}

TEST(ForwardTest, Pools) {
  auto pool = [](const std::string &op, const std::string &count) {
    return evaluate("%0: tensor<1x1x4xf64>",
                    "cleave." + op + " %0 {" + count +
                        "window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = "
                        "array<i64: 1>, pad_high = array<i64: 1>} : tensor<1x1x4xf64> -> tensor<1x1x2xf64>",
                    "tensor<1x1x2xf64>", {{-5, -3, -9, -1}});
  };
  expectNear(pool("max_pool", ""), {-3, -1}); // padding is never the maximum
  expectNear(pool("avg_pool", ""), {-4, -13. / 3});
  expectNear(pool("avg_pool", "count_pad, "), {-8. / 3, -13. / 3});
}

//===----------------------------------------------------------------------===//
// Indexing and shapes
//===----------------------------------------------------------------------===//

TEST(ForwardTest, TakeAndPutAdd) {
  expectNear(evaluate("%0: tensor<2x3xf64>, %1: tensor<2xi64>",
                      "cleave.take %0, %1, dim = 1 : tensor<2x3xf64>, tensor<2xi64> -> tensor<2x2xf64>",
                      "tensor<2x2xf64>", {{1, 2, 3, 4, 5, 6}, {-1, 0}}),
             {3, 1, 6, 4});
  expectNear(evaluate("%0: tensor<3xf64>, %1: tensor<3xi64>, %2: tensor<3xf64>",
                      "cleave.put_add %0, %1, %2, dim = 0 : tensor<3xf64>, tensor<3xi64>, tensor<3xf64>",
                      "tensor<3xf64>", {{1, 2, 3}, {2, 0, -1}, {10, 20, 30}}),
             {21, 2, 43});
  expectNear(evaluate("%0: tensor<2x3xf64>, %1: tensor<2x2xi64>",
                      "cleave.pick %0, %1, dim = 1, batch = 1 : tensor<2x3xf64>, tensor<2x2xi64> -> tensor<2x2xf64>",
                      "tensor<2x2xf64>", {{1, 2, 3, 4, 5, 6}, {-1, 0, 1, 1}}),
             {3, 1, 5, 5});
  auto put = [&](const std::string &flags) {
    return evaluate("%0: tensor<2x3xf64>, %1: tensor<2x3xi64>, %2: tensor<2x3xf64>",
                    "cleave.put %0, %1, %2, dim = 1, batch = 1" + flags +
                        " : tensor<2x3xf64>, tensor<2x3xi64>, tensor<2x3xf64>",
                    "tensor<2x3xf64>", {{1, 2, 3, 4, 5, 6}, {2, 0, -1, 1, 1, 1}, {10, -20, 30, 7, -8, 9}});
  };
  expectNear(put(""), {-20, 2, 30, 4, 9, 6});
  expectNear(put(" combine sum"), {-19, 2, 43, 4, 13, 6});
  expectNear(put(" combine max"), {1, 2, 30, 4, 9, 6});
  expectNear(put(" combine min"), {-20, 2, 3, 4, -8, 6});
  expectNear(put(" combine product"), {-20, 2, 900, 4, 5 * 7 * -8 * 9, 6});
}

TEST(ForwardTest, TopK) {
  auto top = [&](const std::string &flags) {
    return evaluate("%0: tensor<2x4xf64>", "cleave.top_k %0, 3" + flags + " : tensor<2x4xf64> -> tensor<2x3xi64>",
                    "tensor<2x3xi64>", {{1, 5, 5, 0, 2, 2, 2, 3}});
  };
  expectNear(top(""), {1, 2, 0, 3, 0, 1});
  expectNear(top(" {smallest}"), {3, 0, 1, 0, 1, 2});
}

// One query of ones, keys (a, 0) and values of one number: the scores are a / 2.
TEST(ForwardTest, Attention) {
  auto attend = [&](const std::string &mask, const std::string &attributes, int rows, Array masks = {}) {
    std::string query = "tensor<1x1x" + std::to_string(rows) + "x2xf64>", key = "tensor<1x1x3x2xf64>";
    std::string value = "tensor<1x1x3x1xf64>", results = "tensor<1x1x" + std::to_string(rows) + "x1xf64>";
    std::string statistic = "tensor<1x1x" + std::to_string(rows) + "xf64>", types = query + ", " + key + ", " + value;
    std::string source = "func.func @f(%0: " + query + ", %1: " + key + ", %2: " + value +
                         (mask.empty() ? "" : ", %3: " + mask) + ") -> (" + results + ", " + statistic + ", " + statistic +
                         ") {\n  %r:3 = cleave.attention %0, %1, %2" + (mask.empty() ? "" : " mask %3") +
                         ", scale = 0.5" + attributes + " : (" + types + (mask.empty() ? "" : ", " + mask) + ") -> (" +
                         results + ", " + statistic + ", " + statistic + ")\n  return %r#0, %r#1, %r#2 : " + results +
                         ", " + statistic + ", " + statistic + "\n}\n";
    auto program = ReferenceProgram::compile(source);
    EXPECT_TRUE(program) << source;
    Arrays inputs = {Array(static_cast<size_t>(2 * rows), 1), {2, 0, 0, 0, -4, 0}, {1, 10, 100}};
    if (!mask.empty())
      inputs.push_back(masks);
    return program ? program->run("f", inputs) : Arrays(3);
  };
  auto mean = [](Array scores) {
    double sum = 0, result = 0;
    for (size_t i = 0; i < scores.size(); ++i)
      sum += std::exp(scores[i]), result += std::exp(scores[i]) * std::pow(10.0, static_cast<double>(i));
    return result / sum;
  };
  Arrays plain = attend("", "", 1);
  expectNear(plain[0], {mean({1, 0, -2})});
  expectNear(plain[1], {1});
  expectNear(plain[2], {1 + std::exp(-1) + std::exp(-3)});
  expectNear(attend("", " {causal}", 2)[0], {1, mean({1, 0})});
  expectNear(attend("tensor<1x1x1x3xf64>", "", 1, {0, 2, 1})[0], {mean({1, 2, -1})});
  expectNear(attend("tensor<1x1x1x3xi1>", " {fill = -3.0}", 1, {1, 0, 1})[0], {mean({1, -3, -2})});
}

// The random numbers at scattered indices are those of random_uniform. Attention uses them for dropout.
TEST(ForwardTest, DropoutOfAttention) {
  auto program = ReferenceProgram::compile(R"(
    func.func @at(%seed: tensor<i64>, %stream: tensor<i64>, %index: tensor<3x4xi64>) -> tensor<3x4xf32> {
      %u = cleave.random_uniform_at %seed, %stream, %index : tensor<i64>, tensor<i64>, tensor<3x4xi64> -> tensor<3x4xf32>
      return %u : tensor<3x4xf32>
    }
    func.func @all(%seed: tensor<i64>, %step: tensor<i64>) -> tensor<8x4xf32> {
      %u = cleave.random_uniform %seed, %step {site = 3 : i64, global_shape = array<i64: 8, 4>} : tensor<i64>, tensor<i64> -> tensor<8x4xf32>
      return %u : tensor<8x4xf32>
    }
    func.func @attend(%q: tensor<1x2x2x1xf64>, %k: tensor<1x2x3x1xf64>, %v: tensor<1x2x3x1xf64>, %seed: tensor<i64>, %stream: tensor<i64>,
                      %first: tensor<1x2xi64>) -> tensor<1x2x2x1xf64> {
      %y, %m, %l = cleave.attention %q, %k, %v dropout(%seed, %stream, %first), scale = 1.0 {rate = 0.4} :
        (tensor<1x2x2x1xf64>, tensor<1x2x3x1xf64>, tensor<1x2x3x1xf64>, tensor<i64>, tensor<i64>, tensor<1x2xi64>)
        -> (tensor<1x2x2x1xf64>, tensor<1x2x2xf64>, tensor<1x2x2xf64>)
      return %y : tensor<1x2x2x1xf64>
    })");
  ASSERT_TRUE(program);
  const double seed = 12345678901, step = 77, stream = 3 * 4294967296.0 + step;
  Array drawn = program->run("all", {{seed}, {step}})[0];
  Array indices = {31, 0, 5, 6, 7, 8, 9, 30, 1, 2, 3, 4}, expected;
  for (double index : indices)
    expected.push_back(drawn[static_cast<size_t>(index)]);
  EXPECT_EQ(program->run("at", {{seed}, {stream}, indices})[0], expected);
  // Two heads of 2 x 3 scores, all 0, which begin at elements 9 and 20. Every column has the probability 1/3, before
  // dropout.
  Array values = {1, 10, 100, 1000, 10000, 100000}, results;
  for (size_t head = 0; head < 2; ++head)
    for (size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (size_t column = 0; column < 3; ++column)
        if (drawn[(head ? 20 : 9) + row * 3 + column] >= 0.4f)
          sum += values[head * 3 + column] / 3 / 0.6;
      results.push_back(sum);
    }
  expectNear(program->run("attend", {Array(4, 0), Array(6, 0), values, {seed}, {stream}, {9, 20}})[0], results);
}

TEST(ForwardTest, Shapes) {
  Array x = {1, 2, 3, 4, 5, 6};
  auto run = [&](const std::string &op, const std::string &result) {
    return evaluate("%0: tensor<2x3xf64>", "cleave." + op + " : tensor<2x3xf64> -> " + result, result, {x});
  };
  expectNear(run("reshape %0", "tensor<3x2xf64>"), x);
  expectNear(run("transpose %0, [1, 0]", "tensor<3x2xf64>"), {1, 4, 2, 5, 3, 6});
  expectNear(run("broadcast %0, [0, 2]", "tensor<2x2x3xf64>"), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expectNear(run("slice %0, [0, 0], [2, 2], [1, 2]", "tensor<2x2xf64>"), {1, 3, 4, 6});
  expectNear(run("pad %0, [0, 1], [0, 0], [1, 0], value = 9.0", "tensor<3x4xf64>"),
             {9, 1, 2, 3, 9, 9, 9, 9, 9, 4, 5, 6});
  expectNear(evaluate("%0: tensor<2x1xf64>, %1: tensor<2x2xf64>",
                      "cleave.concat %0, %1 dim = 1 : tensor<2x1xf64>, tensor<2x2xf64> -> tensor<2x3xf64>",
                      "tensor<2x3xf64>", {{1, 2}, {3, 4, 5, 6}}),
             {1, 3, 4, 2, 5, 6});
  expectNear(evaluate("", "cleave.iota dim = 1 : tensor<2x3xi64>", "tensor<2x3xi64>", {}), {0, 1, 2, 0, 1, 2});
}
