// A model is cut into chunks, which run one after another. Loss, gradients and update must be those of the uncut model.
#include "test/compiler/Training/StepRunner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace cleave::test;

namespace {

Array randomArray(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.6);
  Array array(size);
  for (double &x : array)
    x = normal(random);
  return array;
}

std::string state(const std::string &name, const std::string &type, const std::string &role, const std::string &init) {
  return "cleave.state @" + name + " : " + type + " {role = #cleave.role<" + role +
         ">, segments = [#cleave.segment<\"" + name + "\", " + type + ", offset = 0, group = 0, init = #cleave.init<" +
         init + ">>]}\n";
}

// Five layers with a skip over three of them, a weight that the first and the last use (tied, once transposed), an
// input that is first used late (%m, a mask for all layers), the labels at the end, and a running mean that the third
// layer changes.
std::string model(int rows) {
  std::string text = "module attributes {cleave.level = \"model\"} {\n";
  for (const char *name : {"w0", "w1", "w2", "w3"})
    text += state(name, "tensor<4x4xf64>", "parameter", "weights");
  text += state("mean", "tensor<4xf64>", "buffer", "weights");
  text += R"(
func.func @model(%x: ACT {cleave.name = "x", cleave.batch_dim = 0 : i64}, %m: ACT {cleave.name = "m", cleave.batch_dim = 0 : i64},
                 %y: ACT {cleave.name = "y", cleave.batch_dim = 0 : i64}) -> (tensor<f64> {cleave.loss}) {
  %w0 = cleave.read @w0 : tensor<4x4xf64>
  %w1 = cleave.read @w1 : tensor<4x4xf64>
  %w2 = cleave.read @w2 : tensor<4x4xf64>
  %w3 = cleave.read @w3 : tensor<4x4xf64>
  %mean = cleave.read @mean : tensor<4xf64>
  %c = cleave.constant dense<0.5> : tensor<4xf64>
  %n = cleave.constant dense<COUNT> : tensor<f64>
  %0 = cleave.matmul %x, %w0 {transpose_rhs} : ACT, tensor<4x4xf64> -> ACT
  %h0 = cleave.tanh %0 : ACT
  %1 = cleave.matmul %h0, %w1 {transpose_rhs} : ACT, tensor<4x4xf64> -> ACT
  %m1 = cleave.mul %1, %m : ACT
  %h1 = cleave.tanh %m1 : ACT
  %s = cleave.reduce sum %h1, [0] : ACT -> tensor<4xf64>
  %s2 = cleave.add %mean, %s : tensor<4xf64>
  %s3 = cleave.mul %s2, %c : tensor<4xf64>
  cleave.write %s3, @mean : tensor<4xf64>
  %2 = cleave.matmul %h1, %w2 {transpose_rhs} : ACT, tensor<4x4xf64> -> ACT
  %m2 = cleave.mul %2, %m : ACT
  %h2 = cleave.tanh %m2 : ACT
  %3 = cleave.matmul %h2, %w3 {transpose_rhs} : ACT, tensor<4x4xf64> -> ACT
  %t3 = cleave.add %3, %h0 : ACT
  %h3 = cleave.tanh %t3 : ACT
  %4 = cleave.matmul %h3, %w0 : ACT, tensor<4x4xf64> -> ACT
  %d = cleave.sub %4, %y : ACT
  %dd = cleave.mul %d, %d : ACT
  %l = cleave.reduce sum %dd, [0, 1] : ACT -> tensor<f64>
  %loss = cleave.div %l, %n : tensor<f64>
  return %loss : tensor<f64>
}
}
)";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("ACT", "tensor<" + std::to_string(rows) + "x4xf64>");
  replace("COUNT", std::to_string(4 * rows) + ".0");
  return text;
}

struct Outcome {
  double loss = 0, norm = 0;
  Arrays gradients, parameters;
};

const std::vector<std::string> kParameters = {"w0", "w1", "w2", "w3"};

Outcome run(const std::string &options, int microBatches) {
  Outcome outcome;
  StepRunner runner(model(6), options + " micro-batches=" + std::to_string(microBatches));
  EXPECT_TRUE(runner.ok()) << options;
  if (!runner.ok())
    return outcome;
  for (size_t i = 0; i < kParameters.size(); ++i)
    runner.set(kParameters[i], randomArray(16, 40 + i));
  std::vector<Arrays> inputs;
  for (int i = 0; i < microBatches; ++i)
    inputs.push_back({randomArray(24, 1 + i), randomArray(24, 11 + i), randomArray(24, 21 + i)});
  runner.setScalar("lr", 0.1);
  runner.setScalar("clip_norm", INFINITY);
  runner.setScalar("step", 1);
  runner.accumulate(inputs);
  for (const std::string &name : kParameters)
    outcome.gradients.push_back(runner.get(name, ".grad"));
  runner.update();
  outcome.loss = runner.scalar("loss");
  outcome.norm = runner.scalar("grad_norm");
  for (const std::string &name : kParameters)
    outcome.parameters.push_back(runner.get(name));
  return outcome;
}

class Chunks : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Chunks, TrainAsTheUncutModel) {
  auto [stages, microBatches] = GetParam();
  const char *sgd = "optimizer=sgd";
  Outcome whole = run(sgd, microBatches);
  for (const char *split : {"auto", "uniform", "parameters", "pattern=w?"})
    for (const char *keep : {"", " keep-all=true", " split-backward"}) {
      std::string options = std::string(sgd) + " stages=" + std::to_string(stages) + " stage-split=" + split + keep;
      SCOPED_TRACE(options);
      Outcome cut = run(options, microBatches);
      EXPECT_NEAR(cut.loss, whole.loss, 1e-6 * std::abs(whole.loss));
      EXPECT_NEAR(cut.norm, whole.norm, 1e-6 * whole.norm);
      ASSERT_EQ(cut.parameters.size(), whole.parameters.size());
      for (size_t i = 0; i < whole.parameters.size(); ++i)
        for (size_t j = 0; j < whole.parameters[i].size(); ++j)
          EXPECT_NEAR(cut.parameters[i][j], whole.parameters[i][j], 1e-12) << kParameters[i];
    }
}

INSTANTIATE_TEST_SUITE_P(Stages, Chunks, testing::Combine(testing::Values(2, 3, 4), testing::Values(1, 3)));

// The tied weight has one accumulator in each of two chunks. The other weights have one.
TEST(TiedWeights, HaveAnAccumulatorInEachChunk) {
  Outcome whole = run("optimizer=sgd", 1);
  Outcome cut = run("optimizer=sgd stages=2 stage-split=uniform", 1);
  ASSERT_EQ(cut.gradients.size(), whole.gradients.size());
  double difference = 0;
  for (size_t j = 0; j < 16; ++j) {
    difference += std::abs(cut.gradients[0][j] - whole.gradients[0][j]);
    EXPECT_NEAR(cut.gradients[1][j], whole.gradients[1][j], 1e-12);
  }
  EXPECT_GT(difference, 1e-3); // the rest is in the other accumulator
}

} // namespace
