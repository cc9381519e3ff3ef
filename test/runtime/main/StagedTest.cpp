// Runs pipelines as complete jobs on local ranks: training, evaluation, checkpoints from any mesh to any other, traces.
#include "runtime/main/Commands.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/train/data/Npy.h"

#include "test/runtime/TempDir.h"
#include "test/runtime/main/StagedModel.h"

#include <nlohmann/json.hpp>
#include <numeric>

using namespace cleave::rt;
using namespace cleave::rt::test;
using cleave::test::TempDir;

namespace {

constexpr unsigned kLayers = StagedModel::kLayers, kWidth = StagedModel::kWidth, kSamples = 16, kGlobalBatch = 8;

float dataAt(bool isLabel, size_t i) { return static_cast<float>((i * 37 + (isLabel ? 11 : 0)) % 23) / 16 - 0.5f; }

std::string writeData(const TempDir &dir, bool isLabel) {
  std::vector<float> values(kSamples * kWidth);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = dataAt(isLabel, i);
  std::string path = dir / (isLabel ? "t.npy" : "x.npy");
  EXPECT_TRUE(
      writeNpy(path, {"", ElementType::f32, {kSamples, kWidth}, (std::byte *)values.data(), values.size() * 4, nullptr})
          .isOk());
  return std::string(isLabel ? "t=" : "x=") + path;
}

// The same training in double. It computes one batch after the other.
class Reference {
public:
  Reference() {
    for (unsigned layer = 0; layer < kLayers; ++layer)
      for (unsigned i = 0; i < kWidth; ++i)
        w_[layer][i] = 1 + 0.125 * ((3 * layer + 5 * i) % 7) - 0.375;
  }
  // Returns the loss before the weights change. With lr 0 they do not change.
  double step(unsigned firstSample, double lr) {
    double loss = 0, dw[kLayers][kWidth] = {};
    for (size_t i = firstSample * kWidth; i < (firstSample + kGlobalBatch) * kWidth; ++i) {
      double y[kLayers + 1] = {dataAt(false, i)};
      for (unsigned layer = 0; layer < kLayers; ++layer)
        y[layer + 1] = y[layer] * w_[layer][i % kWidth];
      double distance = y[kLayers] - dataAt(true, i), dy = 2 * distance / (kGlobalBatch * kWidth);
      loss += distance * distance / (kGlobalBatch * kWidth);
      for (unsigned layer = kLayers; layer-- > 0; dy *= w_[layer][i % kWidth])
        dw[layer][i % kWidth] += y[layer] * dy;
    }
    for (unsigned layer = 0; layer < kLayers; ++layer)
      for (unsigned i = 0; i < kWidth && lr != 0; ++i) {
        m_[layer][i] = 0.5 * m_[layer][i] + dw[layer][i];
        w_[layer][i] -= lr * m_[layer][i];
      }
    return loss;
  }
  double weight(unsigned layer, unsigned i) const { return w_[layer][i]; }

private:
  double w_[kLayers][kWidth], m_[kLayers][kWidth] = {};
};

struct Result {
  int code;
  std::string out, err;
};

Result run(const StagedMesh &mesh, std::vector<std::string> arguments) {
  StagedModel model(mesh);
  arguments.insert(arguments.begin(), "staged");
  std::vector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code = runMain(static_cast<int>(argv.size()), argv.data(), model.model());
  Result result{code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  EXPECT_EQ(result.code, 0) << result.err;
  return result;
}

std::vector<std::string> training(const TempDir &dir, const std::string &steps, std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "train", "--data", writeData(dir, false), "--data", writeData(dir, true), "--steps", steps,
      "--lr",  "0.5",    "--no-shuffle"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<nlohmann::json> metrics(const std::string &path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

constexpr StagedMesh kMeshes[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {2, 2, 1},
                                  {2, 1, 2}, {2, 2, 2}, {4, 1, 2}, {1, 2, 2}};

TEST(Staged, EveryMeshTrainsTheSame) {
  for (const StagedMesh &mesh : kMeshes) {
    SCOPED_TRACE(testing::Message() << mesh.pp << " x " << mesh.dp << " x " << mesh.fsdp);
    TempDir dir;
    Result result = run(mesh, training(dir, "20", {"--metrics", dir / "m.jsonl"}));
    Reference reference;
    std::vector<nlohmann::json> lines = metrics(dir / "m.jsonl");
    ASSERT_EQ(lines.size(), 20u);
    for (unsigned step = 0; step < 20; ++step)
      EXPECT_NEAR(lines[step]["loss"].get<double>(), reference.step(step % 2 * kGlobalBatch, 0.5), 1e-6) << step;
    EXPECT_NE(result.out.find("step 20/20"), std::string::npos) << result.out;
  }
}

TEST(Staged, EveryMeshEvaluates) {
  Reference reference;
  double expected = (reference.step(0, 0) + reference.step(kGlobalBatch, 0)) / 2;
  for (const StagedMesh &mesh : kMeshes) {
    TempDir dir;
    Result result = run(mesh, {"evaluate", "--data", writeData(dir, false), "--data", writeData(dir, true)});
    ASSERT_EQ(result.out.substr(0, 5), "loss ") << mesh.pp;
    EXPECT_NEAR(std::stod(result.out.substr(5)), expected, 2e-6) << mesh.pp;
    EXPECT_NE(result.out.find("(16 samples)"), std::string::npos) << result.out;
  }
}

// One mesh saves, and another one resumes. The losses are those of a run without a break.
TEST(Staged, CheckpointsGoFromAnyMeshToAnyOther) {
  const StagedMesh order[] = {{2, 1, 1}, {1, 1, 1}, {1, 1, 2}, {4, 1, 1}, {2, 2, 2}, {2, 1, 1}};
  for (const char *form : {"sharded", "full"}) {
    TempDir dir;
    unsigned steps = 0;
    for (const StagedMesh &mesh : order)
      run(mesh,
          training(dir, std::to_string(steps += 3),
                   {"--metrics", dir / "m.jsonl", "--save", dir / "ckpt", "--resume", "auto", "--checkpoint", form}));
    Reference reference;
    std::vector<nlohmann::json> lines = metrics(dir / "m.jsonl");
    ASSERT_EQ(lines.size(), steps);
    for (unsigned step = 0; step < steps; ++step)
      EXPECT_NEAR(lines[step]["loss"].get<double>(), reference.step(step % 2 * kGlobalBatch, 0.5), 1e-6) << step;
    CheckpointTensors tensors;
    ASSERT_TRUE(loadCheckpointTensors(dir / "ckpt", &tensors, /*optimizerState=*/true).isOk());
    EXPECT_EQ(tensors.byName.size(), 2 * kLayers);
    for (unsigned layer = 0; layer < kLayers; ++layer)
      for (unsigned i = 0; i < kWidth; ++i)
        EXPECT_NEAR(reinterpret_cast<const float *>(tensors.byName.at("w" + std::to_string(layer)).data)[i],
                    reference.weight(layer, i), 1e-5);
  }
}

// Each rank writes only the states of its stage. Weights of another run reach the stages that have them.
TEST(Staged, RanksKeepTheirStages) {
  TempDir dir;
  run({4, 1, 1}, training(dir, "2", {"--save", dir / "ckpt"}));
  for (unsigned stage = 0; stage < 4; ++stage) {
    SafeTensors shard;
    ASSERT_TRUE(
        SafeTensors::open(dir / ("ckpt/step-00000002/rank-0000" + std::to_string(stage) + ".safetensors"), &shard)
            .isOk());
    std::string name = "w" + std::to_string(stage);
    EXPECT_NE(shard.find(name), nullptr);
    for (const TensorView &tensor : shard.tensors())
      EXPECT_TRUE(tensor.name.substr(0, 2) == name || tensor.name.substr(0, 6) == "scalar") << tensor.name;
  }
  run({2, 1, 1}, training(dir, "1", {"--weights", dir / "ckpt", "--metrics", dir / "m.jsonl"}));
  Reference reference;
  reference.step(0, 0.5);
  reference.step(kGlobalBatch, 0.5);
  EXPECT_NEAR(metrics(dir / "m.jsonl")[0]["loss"].get<double>(), reference.step(0, 0), 1e-6);
}

TEST(Staged, TracesNameStagesAndMicroBatches) {
  TempDir dir;
  run({2, 1, 1}, training(dir, "1", {"--trace", dir / "t.json"}));
  std::ifstream file(dir / "t.json");
  nlohmann::json trace = nlohmann::json::parse(file);
  std::map<std::string, std::set<int>> microBatches; // micro-batches of each body and rank
  std::set<std::string> titles;
  for (const nlohmann::json &event : trace["traceEvents"]) {
    if (event["name"] == "process_name")
      titles.insert(event["args"]["name"].get<std::string>());
    if (event.contains("args") && event["args"].contains("body"))
      microBatches[event["args"]["body"].get<std::string>() + std::to_string(event["pid"].get<int>())].insert(
          event["args"]["micro_batch"].get<int>());
  }
  EXPECT_EQ(titles, (std::set<std::string>{"rank 0, stage0", "rank 1, stage1"}));
  std::set<int> all = {0, 1, 2, 3};
  EXPECT_EQ(microBatches, (std::map<std::string, std::set<int>>{
                              {"backward0", all}, {"backward1", all}, {"forward0", all}, {"forward1", all}}));
}

} // namespace
