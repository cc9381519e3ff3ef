// Executes the step level. Compares gradients with finite differences in float64, updates with PyTorch's, and a step in
// several micro-batches with a step in one.
#include "test/compiler/Training/StepRunner.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

using namespace cleave::test;

namespace {

Array randomArray(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.7);
  Array array(size);
  for (double &x : array)
    x = normal(random);
  return array;
}

std::string parameter(const std::string &name, const std::string &type) {
  return "cleave.state @" + name + " : " + type + " {role = #cleave.role<parameter>, segments = [#cleave.segment<\"" +
         name + "\", " + type + ", offset = 0, group = 0, init = #cleave.init<weights>>]}\n";
}

// cross-entropy with ignored labels, after two layers; B rows
std::string mlp(int rows) {
  std::string b = std::to_string(rows);
  return "module attributes {cleave.level = \"model\"} {\n" + parameter("w1", "tensor<5x3xf64>") +
         parameter("b1", "tensor<5xf64>") + parameter("w2", "tensor<4x5xf64>") + "func.func @model(%x: tensor<" + b +
         "x3xf64> {cleave.name = \"x\", cleave.batch_dim = 0 : i64},"
         " %t: tensor<" +
         b +
         "xi64> {cleave.name = \"t\", cleave.batch_dim = 0 : i64}) -> (tensor<f64> {cleave.loss}) {\n"
         "%w1 = cleave.read @w1 : tensor<5x3xf64>\n"
         "%b1 = cleave.read @b1 : tensor<5xf64>\n"
         "%w2 = cleave.read @w2 : tensor<4x5xf64>\n"
         "%0 = cleave.matmul %x, %w1 {transpose_rhs} : tensor<" +
         b + "x3xf64>, tensor<5x3xf64> -> tensor<" + b +
         "x5xf64>\n"
         "%1 = cleave.broadcast %b1, [1] : tensor<5xf64> -> tensor<" +
         b +
         "x5xf64>\n"
         "%2 = cleave.add %0, %1 : tensor<" +
         b +
         "x5xf64>\n"
         "%3 = cleave.tanh %2 : tensor<" +
         b +
         "x5xf64>\n"
         "%4 = cleave.matmul %3, %w2 {transpose_rhs} : tensor<" +
         b + "x5xf64>, tensor<4x5xf64> -> tensor<" + b +
         "x4xf64>\n"
         "%5 = cleave.log_softmax %4, dim = 1 : tensor<" +
         b +
         "x4xf64>\n"
         "%6 = cleave.iota dim = 1 : tensor<" +
         b +
         "x4xi64>\n"
         "%7 = cleave.broadcast %t, [0] : tensor<" +
         b + "xi64> -> tensor<" + b +
         "x4xi64>\n"
         "%8 = cleave.compare eq %6, %7 : tensor<" +
         b +
         "x4xi64>\n"
         "%z = cleave.constant dense<0.0> : tensor<" +
         b +
         "x4xf64>\n"
         "%9 = cleave.select %8, %5, %z : tensor<" +
         b + "x4xi1>, tensor<" + b +
         "x4xf64>\n"
         "%10 = cleave.reduce sum %9, [0, 1] : tensor<" +
         b +
         "x4xf64> -> tensor<f64>\n"
         "%11 = cleave.neg %10 : tensor<f64>\n"
         "%ig = cleave.constant dense<-100> : tensor<" +
         b +
         "xi64>\n"
         "%12 = cleave.compare ne %t, %ig : tensor<" +
         b +
         "xi64>\n"
         "%13 = cleave.cast %12 : tensor<" +
         b + "xi1> -> tensor<" + b +
         "xf64>\n"
         "%14 = cleave.reduce sum %13, [0] : tensor<" +
         b +
         "xf64> -> tensor<f64>\n"
         "%15 = cleave.div %11, %14 : tensor<f64>\n"
         "return %15 : tensor<f64>\n}\n}\n";
}

// one head of attention, residual, normalization, mean of squares; a weight used twice
const char *attentionBody = R"(
func.func @model(%x: tensor<4x3xf64> {cleave.name = "x"}) -> (tensor<f64> {cleave.loss}) {
  %wq = cleave.read @wq : tensor<3x3xf64>
  %wv = cleave.read @wv : tensor<3x3xf64>
  %q = cleave.matmul %x, %wq : tensor<4x3xf64>, tensor<3x3xf64> -> tensor<4x3xf64>
  %v = cleave.matmul %x, %wv : tensor<4x3xf64>, tensor<3x3xf64> -> tensor<4x3xf64>
  %s = cleave.matmul %q, %x {transpose_rhs} : tensor<4x3xf64>, tensor<4x3xf64> -> tensor<4x4xf64>
  %p = cleave.softmax %s, dim = 1 : tensor<4x4xf64>
  %a = cleave.matmul %p, %v : tensor<4x4xf64>, tensor<4x3xf64> -> tensor<4x3xf64>
  %o = cleave.matmul %a, %wv {transpose_rhs} : tensor<4x3xf64>, tensor<3x3xf64> -> tensor<4x3xf64>
  %r = cleave.add %o, %x : tensor<4x3xf64>
  %n, %mean, %var = cleave.normalize %r, [1], epsilon = 1.0e-5 : tensor<4x3xf64> -> tensor<4x3xf64>, tensor<4xf64>, tensor<4xf64>
  %g = cleave.mul %n, %o : tensor<4x3xf64>
  %l = cleave.reduce sum %g, [0, 1] : tensor<4x3xf64> -> tensor<f64>
  %c = cleave.constant dense<12.0> : tensor<f64>
  %loss = cleave.div %l, %c : tensor<f64>
  return %loss : tensor<f64>
}
}
)";

// Compares d loss_sum / d parameter, for every element, with central differences of the model's own loss, in float64.
void expectGradients(StepRunner &runner, const std::vector<std::string> &names, const Arrays &inputs) {
  runner.accumulate({inputs});
  double count = runner.scalar("loss_count");
  EXPECT_NEAR(runner.scalar("loss_sum"), count * runner.modelLoss(inputs), 1e-5);
  std::map<std::string, Array> gradients;
  for (const std::string &name : names)
    gradients[name] = runner.get(name, ".grad");
  for (const std::string &name : names) {
    Array gradient = gradients[name], at = runner.get(name);
    for (size_t i = 0; i < at.size(); ++i) {
      constexpr double h = 1e-5;
      double losses[2];
      for (int side : {0, 1}) {
        Array moved = at;
        moved[i] += side ? h : -h;
        runner.set(name, moved);
        losses[side] = runner.modelLoss(inputs);
      }
      runner.set(name, at);
      EXPECT_NEAR(gradient[i], count * (losses[1] - losses[0]) / (2 * h), 1e-7) << name << "[" << i << "]";
    }
  }
}

const Array kX = randomArray(18, 1);
const Array kLabels = {0, 3, -100, 2, 1, 3};

} // namespace

TEST(StepNumerics, MlpGradients) {
  StepRunner runner(mlp(6), "optimizer=sgd");
  ASSERT_TRUE(runner.ok());
  runner.set("w1", randomArray(15, 2));
  runner.set("b1", randomArray(5, 3));
  runner.set("w2", randomArray(20, 4));
  expectGradients(runner, {"w1", "b1", "w2"}, {kX, kLabels});
  EXPECT_EQ(runner.scalar("loss_count"), 5);
}

TEST(StepNumerics, AttentionGradients) {
  std::string source = "module attributes {cleave.level = \"model\"} {\n" + parameter("wq", "tensor<3x3xf64>") +
                       parameter("wv", "tensor<3x3xf64>") + attentionBody;
  StepRunner runner(source, "optimizer=sgd");
  ASSERT_TRUE(runner.ok());
  runner.set("wq", randomArray(9, 5));
  runner.set("wv", randomArray(9, 6));
  expectGradients(runner, {"wq", "wv"}, {randomArray(12, 7)});
}

TEST(StepNumerics, MicroBatchesAddUpToTheWholeBatch) {
  StepRunner whole(mlp(6), "optimizer=sgd"), split(mlp(3), "optimizer=sgd micro-batches=2");
  ASSERT_TRUE(whole.ok() && split.ok());
  for (StepRunner *runner : {&whole, &split}) {
    runner->set("w1", randomArray(15, 2));
    runner->set("b1", randomArray(5, 3));
    runner->set("w2", randomArray(20, 4));
    runner->setScalar("lr", 0.1);
    runner->setScalar("step", 1);
    runner->setScalar("clip_norm", std::numeric_limits<double>::infinity());
  }
  auto half = [](const Array &a, size_t i) {
    return Array(a.begin() + i * a.size() / 2, a.begin() + (i + 1) * a.size() / 2);
  };
  for (int step = 0; step < 2; ++step) { // twice, because the first micro-batch must clear the sums of the last step
    whole.accumulate({{kX, kLabels}});
    split.accumulate({{half(kX, 0), half(kLabels, 0)}, {half(kX, 1), half(kLabels, 1)}});
    whole.update();
    split.update();
    EXPECT_NEAR(whole.scalar("loss"), split.scalar("loss"), 1e-6);
    for (const char *name : {"w1", "b1", "w2"}) {
      Array a = whole.get(name), b = split.get(name);
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 1e-12) << name << "[" << i << "]";
    }
  }
}

// loss-average=rank: the mean of the two ranks' means. Their counts differ (2 and 3 labels).
TEST(StepNumerics, RankAverageIsTheMeanOfTheRanksMeans) {
  StepRunner both(mlp(6), "optimizer=sgd loss-average=rank data-ranks=2"), one(mlp(3), "optimizer=sgd");
  ASSERT_TRUE(both.ok() && one.ok());
  for (StepRunner *runner : {&both, &one}) {
    runner->set("w1", randomArray(15, 2));
    runner->set("b1", randomArray(5, 3));
    runner->set("w2", randomArray(20, 4));
  }
  both.accumulate({{kX, kLabels}});
  Array expected(15);
  double means = 0;
  for (size_t rank : {0, 1}) {
    one.accumulate({{Array(kX.begin() + rank * 9, kX.begin() + rank * 9 + 9),
                     Array(kLabels.begin() + rank * 3, kLabels.begin() + rank * 3 + 3)}});
    Array gradient = one.get("w1", ".grad");
    for (size_t i = 0; i < gradient.size(); ++i)
      expected[i] += gradient[i] / one.scalar("loss_count") / 2;
    means += one.scalar("loss_sum") / one.scalar("loss_count");
  }
  Array got = both.get("w1", ".grad");
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-12) << "w1[" << i << "]";
  // The loss of the step is this mean, too: there are two means, and their sum.
  EXPECT_EQ(both.scalar("loss_count"), 2);
  EXPECT_NEAR(both.scalar("loss_sum"), means, 1e-6);
}

TEST(StepNumerics, UpdatesAreAsPyTorchRecordedThem) {
  std::ifstream file(CLEAVE_TEST_SOURCE_DIR "/compiler/Training/optimizers.json");
  ASSERT_TRUE(file) << "record_optimizers.py writes it";
  // loss = sum(w * x) / 1: the gradient is the input.
  std::string model = "module attributes {cleave.level = \"model\"} {\n" + parameter("w", "tensor<6xf32>") + R"(
    func.func @model(%x: tensor<6xf32> {cleave.name = "x"}) -> (tensor<f32> {cleave.loss}) {
      %w = cleave.read @w : tensor<6xf32>
      %0 = cleave.mul %w, %x : tensor<6xf32>
      %1 = cleave.reduce sum %0, [0] : tensor<6xf32> -> tensor<f32>
      return %1 : tensor<f32>
    } })";
  for (const auto &golden : nlohmann::json::parse(file)) {
    SCOPED_TRACE(golden["optimizer"].get<std::string>());
    StepRunner runner(model, "optimizer=" + golden["optimizer"].get<std::string>());
    ASSERT_TRUE(runner.ok());
    runner.set("w", golden["start"].get<Array>());
    bool clips = !golden["clip"].is_null();
    runner.setScalar("clip_norm", clips ? golden["clip"].get<double>() : std::numeric_limits<double>::infinity());
    for (size_t step = 0; step < golden["lr"].size(); ++step) {
      runner.setScalar("lr", golden["lr"][step].get<double>());
      runner.setScalar("step", static_cast<double>(step + 1));
      runner.accumulate({{golden["gradients"][step].get<Array>()}});
      runner.update();
      EXPECT_NEAR(runner.scalar("grad_norm"), golden["norms"][step].get<double>(), 1e-6);
      Array expected = golden["parameters"][step].get<Array>(), got = runner.get("w");
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], expected[i], 2e-6 * std::max(1.0, std::fabs(expected[i])))
            << "step " << step << " [" << i << "]";
    }
  }
}
