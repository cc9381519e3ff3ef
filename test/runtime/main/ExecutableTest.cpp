// Runs the commands of an executable in this process, on a model made by hand.
#include "runtime/base/Counted.h"
#include "runtime/base/FileMapping.h"
#include "runtime/main/Commands.h"
#include "runtime/state/Checkpoint.h"
#include "runtime/state/CheckpointSave.h"
#include "runtime/train/checkpoint/DiskSpace.h"
#include "runtime/train/data/DataSource.h"
#include "runtime/train/data/Npy.h"

#include "test/runtime/TempDir.h"
#include "test/runtime/main/TinyModel.h"

#include <filesystem>
#include <numeric>

using namespace cleave::rt;
using namespace cleave::rt::test;
using cleave::test::TempDir;

namespace {

struct Result {
  int code;
  std::string out, err;
};

Result runCommandLine(const TinyModel &model, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tiny");
  std::vector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code = runMain(static_cast<int>(argv.size()), argv.data(), model.model());
  Result result{code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  return result;
}

std::string writeData(const TempDir &dir, const std::string &name, int64_t samples) {
  std::vector<float> x(samples * kWidth);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>((i * 7919) % 101) / 10;
  EXPECT_TRUE(
      writeNpy(dir / name, {"", ElementType::f32, {samples, kWidth}, (std::byte *)x.data(), x.size() * 4}).isOk());
  return dir / name;
}

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

TEST(Train, LossFallsAndFilesAreWritten) {
  TempDir dir;
  TinyModel model(2);
  std::string data = "x=" + writeData(dir, "x.npy", 41);
  Result run = runCommandLine(model, {"train",
                                      "--data",
                                      data,
                                      "--val-data",
                                      data,
                                      "--epochs",
                                      "4",
                                      "--lr",
                                      "0.1",
                                      "--metrics",
                                      dir / "m.jsonl",
                                      "--tensorboard",
                                      dir / "tb",
                                      "--trace",
                                      dir / "t.json",
                                      "--save",
                                      dir / "ckpt",
                                      "--save-best",
                                      "--log-every",
                                      "5"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("step 40/40"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("memory: planned"), std::string::npos);
  std::ifstream metrics(dir / "m.jsonl");
  std::string line, last;
  double first = 0, final = 0;
  unsigned lines = 0;
  for (; std::getline(metrics, line); last = line, ++lines)
    if (lines == 0)
      first = std::stod(line.substr(line.find("\"loss\": ") + 8));
  final = std::stod(last.substr(last.find("\"loss\": ") + 8));
  EXPECT_EQ(lines, 40u);
  EXPECT_LT(final, first);
  EXPECT_NE(last.find("\"val_loss\""), std::string::npos);
  // 2 ranks, 8 floats: each sends 2 * (2-1)/2 * 32 bytes.
  EXPECT_NE(last.find("\"comm_bytes\": 32"), std::string::npos) << last;
  EXPECT_TRUE(std::filesystem::exists(dir / "t.json"));
  EXPECT_TRUE(std::filesystem::exists(dir / "ckpt/best"));
}

TEST(Train, ResumedIsBitwiseEqualToNotStopped) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 41);
  auto train = [&](const char *name, const char *steps, unsigned ranks) {
    TinyModel model(ranks);
    Result run = runCommandLine(model, {"train", "--data", data, "--steps", steps, "--lr", "0.05", "--seed", "3",
                                        "--save", dir / name, "--resume", "auto", "--metrics",
                                        dir / (std::string(name) + ".jsonl"), "--lr-schedule", "cosine,warmup=5"});
    EXPECT_EQ(run.code, 0) << run.err;
    return run.out;
  };
  train("whole", "30", 2);
  TinyModel model(2);
  Result first =
      runCommandLine(model, {"train", "--data", data, "--steps", "30", "--lr", "0.05", "--seed", "3", "--save",
                             dir / "parts", "--save-every", "13", "--lr-schedule", "cosine,warmup=5"});
  ASSERT_EQ(first.code, 0) << first.err;
  // The same files as if the run had stopped after step 13.
  for (const char *later : {"parts/step-00000026", "parts/step-00000030", "parts/latest"})
    std::filesystem::remove_all(dir / later);
  EXPECT_NE(train("parts", "30", 2).find("resumed at step 13"), std::string::npos);
  EXPECT_EQ(contents(dir / "parts/step-00000030/rank-00000.safetensors"),
            contents(dir / "whole/step-00000030/rank-00000.safetensors"));
  EXPECT_EQ(contents(dir / "parts/step-00000030/checkpoint.json"),
            contents(dir / "whole/step-00000030/checkpoint.json"));
}

TEST(Train, RanksShareTheGlobalBatch) {
  // Data rank r of 4 has samples 2r and 2r+1 of the global batch of 8.
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  TinyModel model(4);
  Result run = runCommandLine(model, {"train", "--data", data, "--steps", "1", "--lr", "1", "--save", dir / "c"});
  ASSERT_EQ(run.code, 0) << run.err;
  CheckpointTensors tensors;
  ASSERT_TRUE(loadCheckpointTensors(dir / "c", &tensors).isOk());
  // One step with rate 1 and no earlier momentum sets w to the mean of the whole batch.
  DataSpec spec;
  DataSource source;
  ASSERT_TRUE(parseDataSpec(data, &spec).isOk());
  ASSERT_TRUE(DataSource::open(spec, {"x", ElementType::f32, {kWidth}, true}, &source).isOk());
  float mean[kWidth] = {}, sample[kWidth], w[kWidth];
  for (uint64_t i = 0; i < 8; ++i) {
    source.read(i, reinterpret_cast<std::byte *>(sample));
    for (unsigned k = 0; k < kWidth; ++k)
      mean[k] += sample[k] / 8;
  }
  std::memcpy(w, tensors.byName.at("w").data, sizeof w);
  for (unsigned k = 0; k < kWidth; ++k)
    EXPECT_NEAR(w[k], mean[k], 1e-5);
}

// The mean over samples of |x - w|^2 / 2, where w has the weights 1 2 3 4.
double meanLoss(const std::string &path) {
  std::string image = contents(path);
  TensorView x;
  EXPECT_TRUE(parseNpy((const std::byte *)image.data(), image.size(), "x", &x).isOk());
  double sum = 0;
  for (int64_t i = 0; i < x.shape[0] * kWidth; ++i) {
    float value;
    std::memcpy(&value, x.data + 4 * i, 4);
    double difference = static_cast<double>(i % kWidth + 1) - value;
    sum += difference * difference / 2;
  }
  return sum / static_cast<double>(x.shape[0]);
}

TEST(Evaluate, EverySampleCountsOnce) {
  TempDir dir;
  for (int64_t samples : {8, 9, 13, 3, 1})
    for (unsigned ranks : {1, 2, 4}) {
      TinyModel model(ranks);
      std::string data = writeData(dir, "x.npy", samples);
      Result run = runCommandLine(model, {"evaluate", "--data", "x=" + data});
      ASSERT_EQ(run.code, 0) << run.err;
      EXPECT_NE(run.out.find("(" + counted(static_cast<uint64_t>(samples), "sample") + ")"), std::string::npos)
          << run.out;
      double expected = meanLoss(data), got = std::stod(run.out.substr(5));
      EXPECT_NEAR(got, expected, 1e-5 * expected) << samples << " samples on " << ranks << " ranks";
    }
}

TEST(Train, OneFileOrOneForEachRank) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 41);
  auto train = [&](const char *name, const char *form, const char *steps) {
    TinyModel model(2);
    Result run = runCommandLine(model, {"train", "--data", data, "--steps", steps, "--lr", "0.05", "--save", dir / name,
                                        "--checkpoint", form, "--resume", "auto"});
    EXPECT_EQ(run.code, 0) << run.err;
  };
  train("sharded", "sharded", "20");
  train("full", "full", "9");
  train("full", "full", "20");
  EXPECT_TRUE(std::filesystem::exists(dir / "full/step-00000020/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(dir / "full/step-00000020/rank-00000.safetensors"));
  CheckpointTensors sharded, full;
  ASSERT_TRUE(loadCheckpointTensors(dir / "sharded", &sharded, true).isOk());
  ASSERT_TRUE(loadCheckpointTensors(dir / "full", &full, true).isOk());
  ASSERT_EQ(full.byName.size(), sharded.byName.size());
  for (const auto &[name, tensor] : sharded.byName)
    EXPECT_EQ(std::memcmp(full.byName.at(name).data, tensor.data, tensor.bytes), 0) << name;
}

TEST(Train, CleansWhatAKilledRunLeft) {
  TempDir dir;
  TinyModel model(1);
  std::string data = "x=" + writeData(dir, "x.npy", 41);
  std::filesystem::create_directories(dir / "c/.step-00000007.tmp");
  Result run = runCommandLine(model, {"train", "--data", data, "--steps", "2", "--save", dir / "c"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "c/.step-00000007.tmp"));
  CheckpointLock lock;
  ASSERT_TRUE(CheckpointLock::take(dir / "c", &lock).isOk());
  Result second = runCommandLine(model, {"train", "--data", data, "--steps", "2", "--save", dir / "c"});
  EXPECT_NE(second.err.find("--save: another process is saving into"), std::string::npos) << second.err;
}

TEST(Train, EpochsAreCountedInSamplesAfterAnotherGlobalBatch) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 40);
  auto train = [&](unsigned ranks, std::vector<std::string> options) {
    options.insert(options.begin(), {"train", "--data", data, "--lr", "0.01"});
    Result run = runCommandLine(TinyModel(ranks), options);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.out;
  };
  train(1, {"--epochs", "1", "--save", dir / "a"}); // 20 steps of 2 samples
  std::string more = train(2, {"--epochs", "2", "--resume", dir / "a", "--save", dir / "b"});
  EXPECT_NE(more.find("step 30/30"), std::string::npos) << more; // 10 more steps, of 4 samples
  // Resumes after half an epoch, and trains a whole one.
  train(2, {"--steps", "5", "--save", dir / "c"});
  more = train(1, {"--epochs", "2", "--resume", dir / "c", "--save", dir / "d"});
  EXPECT_NE(more.find("step 35/35"), std::string::npos) << more;
  more = train(1, {"--epochs", "2", "--resume", dir / "b", "--save", dir / "e"});
  EXPECT_NE(more.find("nothing to do: the checkpoint is at step 30, and --epochs 2 asks for 2 epochs in all, including "
                      "those before the checkpoint: give more\n"),
            std::string::npos)
      << more;
  more = train(1, {"--steps", "10", "--resume", dir / "b"});
  EXPECT_NE(more.find("nothing to do: the checkpoint is at step 30, and --steps 10 asks for 10 steps in all, including "
                      "those before the checkpoint: give more\n"),
            std::string::npos)
      << more;
  more = train(1, {"--resume", dir / "b"});
  EXPECT_NE(more.find("step 30, and without --steps or --epochs a training has 1 epoch in all"), std::string::npos)
      << more;
  Result run = runCommandLine(TinyModel(1), {"train", "--data", data, "--epochs", "1844674407370955162"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("--epochs: 1844674407370955162 epochs of 20 steps are more steps than can be counted"),
            std::string::npos)
      << run.err;
}

// As in a training whose data file is truncated while it runs.
static int readShortened(const TempDir &dir, const TinyModel &model) {
  const char *argv[] = {"tiny", "--help"};
  FileMapping file;
  if (runMain(2, argv, model.model()) != 0 || !FileMapping::open(dir.write("x.bin", "data"), &file).isOk())
    return 2;
  std::filesystem::resize_file(dir / "x.bin", 0);
  return static_cast<int>(*static_cast<const volatile std::byte *>(file.data()));
}

TEST(Train, NamesAFileThatWasMadeShorter) {
  TempDir dir;
  TinyModel model(1);
  EXPECT_EXIT(std::exit(readShortened(dir, model)), testing::ExitedWithCode(1),
              "error: '[^']*/x.bin' was truncated while in use, or can no longer be read");
}

TEST(Train, CommunicationVariablesAreChecked) {
  TempDir dir;
  TinyModel model(2);
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  struct Variable {
    const char *name, *expected;
    std::vector<const char *> bad;
  };
  std::vector<Variable> variables = {
      {"CLEAVE_COMM_TIMEOUT_S", "a positive number of seconds, at most 1e9", {"-1", "abc", "0", "nan", "inf", "3s"}},
      {"CLEAVE_COMM_HEARTBEAT_S",
       "a number of seconds from 1 to 1e9, or 0 for no limit",
       {"-1", "abc", "nan", "1e300", "0.05", "0.999"}},
      {"CLEAVE_COMM_DELAY_US", "a number of microseconds from 0 to 1e15", {"-1", "1e300", "2ms"}},
      {"CLEAVE_COMM_BYTES_PER_S", "a number of bytes from 0 to 1e18", {"-5", "1e300", "fast"}}};
  for (const Variable &variable : variables)
    for (const char *bad : variable.bad) {
      ::setenv(variable.name, bad, 1);
      Result run = runCommandLine(model, {"train", "--data", data, "--steps", "1"});
      ::unsetenv(variable.name);
      EXPECT_NE(run.code, 0);
      std::string message = std::string(variable.name) + "='" + bad + "': expected " + variable.expected;
      EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
    }
}

TEST(Train, StopsEarly) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  TinyModel model(1);
  Result run = runCommandLine(
      model, {"train", "--data", data, "--val-data", data, "--epochs", "500", "--lr", "0", "--patience", "3"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("stopped early: no better loss in 3 evaluations"), std::string::npos) << run.out;
  // 0 is the default: evaluations after each epoch, and no end before the last one.
  run = runCommandLine(model, {"train", "--data", data, "--val-data", data, "--epochs", "9", "--lr", "0", "--patience",
                               "0", "--eval-every", "0"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out.find("stopped early"), std::string::npos) << run.out;
}

TEST(Train, BestIsWhatWasToldToBeTheBest) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  auto train = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"train", "--data", data, "--val-data", data, "--eval-every", "2"});
    Result run = runCommandLine(TinyModel(1), options);
    EXPECT_EQ(run.code, 0) << run.err;
    return run;
  };
  std::vector<std::string> steps4 = {"--steps", "4", "--lr", "0.01", "--save", dir / "c", "--save-best"};
  train(steps4);
  EXPECT_EQ(contents(dir / "c/best"), "step-00000004\n");
  // A run that continues updates `best`, with and without --save-best: the first one with better losses, the second one
  // with none.
  EXPECT_NE(train({"--steps", "6", "--lr", "0.01", "--save", dir / "c", "--resume", "auto"}).out.find("  best"),
            std::string::npos);
  EXPECT_EQ(contents(dir / "c/best"), "step-00000006\n");
  EXPECT_EQ(train({"--steps", "8", "--lr", "0", "--save", dir / "c", "--resume", "auto"}).out.find("  best"),
            std::string::npos);
  EXPECT_EQ(contents(dir / "c/best"), "step-00000006\n");
  // In another directory, or from an earlier step, the best is another one.
  Result other = train({"--steps", "10", "--lr", "0", "--save", dir / "d", "--resume", dir / "c", "--save-best"});
  EXPECT_NE(other.out.find("  best"), std::string::npos) << other.out;
  EXPECT_EQ(contents(dir / "d/best"), "step-00000010\n");
  train({"--steps", "8", "--lr", "0", "--save", dir / "c", "--resume", dir / "c/step-00000004"});
  EXPECT_EQ(contents(dir / "c/best"), "step-00000006\n");
  // The checkpoint that `best` names is replaced.
  Result again = train({"--steps", "6", "--lr", "0", "--save", dir / "c"});
  EXPECT_NE(again.err.find("c/best is removed: what it named is replaced by"), std::string::npos) << again.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "c/best"));
}

TEST(Train, AnEpochGoesOnInItsOrder) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  auto train = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"train", "--data", data, "--save", dir / "c"});
    return runCommandLine(TinyModel(1), options);
  };
  ASSERT_EQ(train({"--steps", "3", "--no-shuffle"}).code, 0);
  Result other = train({"--steps", "4", "--resume", "auto"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--resume: the checkpoint was made with --no-shuffle, and lies inside an epoch"),
            std::string::npos)
      << other.err;
  ASSERT_EQ(train({"--steps", "4", "--resume", "auto", "--no-shuffle"}).code, 0);
  ASSERT_EQ(train({"--steps", "5", "--resume", "auto"}).code, 0); // another epoch
  other = train({"--steps", "6", "--resume", "auto", "--no-shuffle"});
  EXPECT_NE(other.err.find("made without --no-shuffle"), std::string::npos) << other.err;
  // A directory that is written in another way is still the one of --save.
  Result same = train({"--steps", "5", "--resume", dir / "c/step-00000005/"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out.find("saved"), std::string::npos) << same.out;
}

TEST(Train, WholeCheckpointsBesideADamagedOneAreNamed) {
  TempDir dir;
  std::vector<std::string> train = {
      "train", "--data", "x=" + writeData(dir, "x.npy", 8), "--save", dir / "c", "--steps", "6", "--save-every", "2"};
  TinyModel model(2);
  ASSERT_EQ(runCommandLine(model, train).code, 0);
  std::filesystem::remove(dir / "c/step-00000006/rank-00001.safetensors");
  std::filesystem::remove(dir / "c/step-00000004/rank-00000.safetensors");
  train.insert(train.end(), {"--resume", "auto"});
  Result run = runCommandLine(model, train);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("step-00000006/rank-00001.safetensors"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("; --resume " + (dir / "c/step-00000002") + " takes the newest whole one beside it"),
            std::string::npos)
      << run.err;
  train.back() = dir / "c/step-00000002";
  EXPECT_EQ(runCommandLine(model, train).code, 0);
}

TEST(Train, StaysStoppedEarlyWhenStartedAgain) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  auto train = [&](const char *patience) {
    Result run = runCommandLine(TinyModel(1), {"train", "--data", data, "--val-data", data, "--epochs", "500", "--lr",
                                               "0", "--patience", patience, "--save", dir / "c", "--resume", "auto"});
    EXPECT_EQ(run.code, 0) << run.err;
    return run.out;
  };
  train("3");
  std::string latest = contents(dir / "c/latest"), again = train("3");
  EXPECT_NE(again.find("nothing to do: stopped early: no better loss in 3 evaluations; the checkpoint is at step 16"),
            std::string::npos)
      << again;
  EXPECT_EQ(contents(dir / "c/latest"), latest);
  std::string more = train("5"); // with more patience the run continues
  EXPECT_NE(more.find("stopped early: no better loss in 5 evaluations"), std::string::npos) << more;
}

// With --resume auto, --weights has an effect only at the first start. Each start says whether it has one.
TEST(Train, WeightsOfTheFirstStartAreToldThen) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  TinyModel model(1);
  ASSERT_EQ(runCommandLine(model, {"train", "--data", data, "--steps", "1", "--save", dir / "w"}).code, 0);
  auto train = [&](const char *steps) {
    Result run = runCommandLine(model, {"train", "--data", data, "--steps", steps, "--save", dir / "c", "--resume",
                                        "auto", "--weights", dir / "w"});
    EXPECT_EQ(run.code, 0) << run.err;
    return run.err;
  };
  const std::string taken = "weights of " + (dir / "w/step-00000001"), idle = "--weights has no effect";
  std::string first = train("1"), second = train("2");
  EXPECT_NE(first.find(taken), std::string::npos) << first;
  EXPECT_EQ(first.find(idle), std::string::npos) << first;
  EXPECT_EQ(second.find(taken), std::string::npos) << second;
  EXPECT_NE(
      second.find(idle + ": --resume auto goes on from " + (dir / "c/step-00000001") + ", with the weights of that"),
      std::string::npos)
      << second;
}

// A warning says that a seed is not used. The model has its weights, so none are drawn.
TEST(CommandLine, ASeedWithoutEffectIsTold) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8);
  TinyModel model(1), text(1, TinyKind::Text);
  ASSERT_EQ(runCommandLine(model, {"train", "--data", data, "--steps", "1", "--seed", "3", "--save", dir / "c"}).code,
            0);
  struct Case {
    const TinyModel &model;
    std::vector<std::string> arguments;
    std::string reason; // empty: the seed is used, or none is given
  };
  const std::string compiled = "the model has all its weights", brings = "--weights brings the weights";
  std::vector<std::string> infer = {"infer", "--input", data, "--output", "y=" + (dir / "y.npy")},
                           evaluate = {"evaluate", "--data", data},
                           generate = {"generate", "--prompt", "ab", "--tokens", "3"};
  auto with = [](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  for (const Case &each :
       {Case{model, infer, ""}, Case{model, with(infer, {"--seed", "3"}), compiled},
        Case{model, with(infer, {"--seed", "0", "--weights", dir / "c"}), brings},
        Case{model, with(evaluate, {"--seed=3"}), compiled}, Case{text, with(generate, {"--temperature", "0"}), ""},
        Case{text, with(generate, {"--seed", "3"}), ""},
        Case{text, with(generate, {"--seed", "3", "--temperature", "0"}), "with --temperature 0"},
        Case{model, {"train", "--data", data, "--steps", "1", "--seed", "3"}, ""}}) {
    Result run = runCommandLine(each.model, each.arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    std::string told = "--seed has no effect: " + each.reason;
    EXPECT_EQ(run.err.find(told) != std::string::npos, !each.reason.empty()) << each.arguments[0] << ": " << run.err;
    EXPECT_EQ(run.err.find("--seed has no effect") != std::string::npos, !each.reason.empty()) << run.err;
  }
}

// A plan may contain anything. The program must not read or write outside of what the plan describes.
TEST(Infer, PortsWithoutSamplesAreRefused) {
  TempDir dir;
  Result run =
      runCommandLine(TinyModel(1, TinyKind::EmptyInference),
                     {"infer", "--input", "x=" + writeData(dir, "x.npy", 5000), "--output", "y=" + (dir / "y.npy")});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("input 'x' has a batch of no samples"), std::string::npos) << run.err;
  Result text = runCommandLine(TinyModel(1, TinyKind::EmptyText), {"generate", "--prompt", "ab"});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.err.find("has a batch of no samples"), std::string::npos) << text.err;
}

TEST(Infer, TailIsPaddedAndCut) {
  TempDir dir;
  TinyModel model(2, TinyKind::Inference);
  Result run = runCommandLine(
      model, {"infer", "--input", "x=" + writeData(dir, "x.npy", 7), "--output", "y=" + (dir / "y.npy")});
  ASSERT_EQ(run.code, 0) << run.err;
  std::string image = contents(dir / "y.npy"), input = contents(dir / "x.npy");
  TensorView y, x;
  ASSERT_TRUE(parseNpy((const std::byte *)image.data(), image.size(), "y", &y).isOk());
  ASSERT_TRUE(parseNpy((const std::byte *)input.data(), input.size(), "x", &x).isOk());
  ASSERT_EQ(y.shape, (Shape{7, kWidth}));
  for (unsigned i = 0; i < 7 * kWidth; ++i)
    EXPECT_EQ(reinterpret_cast<const float *>(y.data)[i],
              reinterpret_cast<const float *>(x.data)[i] * static_cast<float>(i % kWidth + 1));
}

TEST(Infer, UsesATrainedCheckpoint) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 16);
  ASSERT_EQ(runCommandLine(TinyModel(2), {"train", "--data", data, "--save", dir / "c"}).code, 0);
  TinyModel model(1, TinyKind::Inference);
  Result run =
      runCommandLine(model, {"infer", "--input", data, "--output", "y=" + (dir / "y.npy"), "--weights", dir / "c"});
  EXPECT_EQ(run.code, 0) << run.err;
}

// The space that is asked for before the first step is what a checkpoint takes: in files, in blocks.
TEST(Train, ACheckpointTakesTheSpaceThatIsAskedFor) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 16);
  TinyModel model(2);
  for (CheckpointForm form : {CheckpointForm::Sharded, CheckpointForm::Full})
    for (uint64_t block : {1, 512, 4096, 65536}) {
      std::string directory = dir / (form == CheckpointForm::Full ? "full" : "sharded");
      ASSERT_EQ(runCommandLine(model, {"train", "--data", data, "--save", directory, "--checkpoint",
                                       form == CheckpointForm::Full ? "full" : "sharded"})
                    .code,
                0);
      Checkpoint checkpoint;
      ASSERT_TRUE(Checkpoint::open(directory, &checkpoint).isOk());
      uint64_t taken = 2 * block, asked = 0; // the directory, and `latest`
      for (const auto &entry : std::filesystem::directory_iterator(checkpoint.path()))
        taken += (std::filesystem::file_size(entry) + block - 1) / block * block;
      ASSERT_TRUE(
          checkpointBytes(*fb::GetPlan(model.model().plan), form, checkpoint.index().run, block, &asked).isOk());
      EXPECT_GE(asked, taken) << block;
      EXPECT_LE(asked, taken + std::max<uint64_t>(block, 1024)) << block;
    }
}

TEST(Evaluate, PrintsTheMeanLoss) {
  TempDir dir;
  std::vector<float> x(8 * kWidth, 0.0f); // w = 1 2 3 4: sum of squares / 2 = 15
  ASSERT_TRUE(writeNpy(dir / "x.npy", {"", ElementType::f32, {8, kWidth}, (std::byte *)x.data(), x.size() * 4}).isOk());
  Result run = runCommandLine(TinyModel(2), {"evaluate", "--data", "x=" + (dir / "x.npy")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "loss 15.000000  (8 samples)\n");
}

TEST(Generate, FollowsTheModelBeyondItsContext) {
  Result run = runCommandLine(TinyModel(1, TinyKind::Text),
                              {"generate", "--prompt", "ab", "--bytes", "12", "--temperature", "0"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "abcdefghijklmn\n");
}

TEST(Generate, RefusesOtherModels) {
  Result ahead = runCommandLine(TinyModel(1, TinyKind::LookingAhead), {"generate"});
  EXPECT_EQ(ahead.code, 1);
  EXPECT_NE(ahead.err.find("not causal"), std::string::npos) << ahead.err;
  Result numbers = runCommandLine(TinyModel(1), {"generate"});
  EXPECT_EQ(numbers.code, 1);
  EXPECT_NE(numbers.err.find("no integer input [batch, context]"), std::string::npos) << numbers.err;
}

struct Mistake {
  std::vector<std::string> arguments;
  int code;
  std::string expected;
};

TEST(CommandLine, MistakesAreOneLine) {
  TempDir dir;
  std::string data = "x=" + writeData(dir, "x.npy", 8), other = "x=" + writeData(dir, "few.npy", 1);
  std::vector<Mistake> mistakes = {
      {{}, 2, "no command; expected infer, train"},
      {{"trian"}, 2, "unknown command 'trian'; did you mean 'train'?"},
      {{"frobnicate"}, 2, "expected infer, train, evaluate, generate, inspect"},
      {{"train", "--lerning-rate", "1"}, 2, "train: unknown option '--lerning-rate'"},
      {{"train", "--epoch", "1"}, 2, "unknown option '--epoch'; did you mean '--epochs'?"},
      {{"train", "--epochs=1", "--save-evry=3"}, 2, "did you mean '--save-every'?"},
      {{"train", "--steps", "many"}, 2, "--steps: expected a whole number from 1; got: many"},
      {{"train", "--steps=-1"}, 2, "--steps: expected a whole number from 1; got: -1"},
      {{"train", "--threads", "-1"}, 2, "--threads: expected a whole number from 1; got: -1"},
      {{"train", "--threads", "0"}, 2, "--threads: expected a whole number from 1; got: 0"},
      {{"infer", "--ranks", "0"}, 2, "--ranks: expected a whole number from 1; got: 0"},
      {{"train", "--data", data, "--steps", "0"}, 2, "--steps: expected a whole number from 1; got: 0"},
      {{"train", "--data", data, "--log-every", "0"}, 2, "--log-every: expected a whole number from 1; got: 0"},
      {{"generate", "--bytes", "3", "--tokens", "4"}, 2, "--bytes is another name of --tokens; give one of the two"},
      {{"train", "--data", data, "y=y.npy"},
       2,
       "unexpected argument 'y=y.npy' after --data " + data + "; give the opt"},
      {{"train", "--data=" + data, "y=y.npy"},
       2,
       "give the option once for each value: --data " + data + " --data y=y"},
      {{"train", "--data", data, "x.npy"}, 2, "several files are separated by commas: --data " + data + ",x.npy"},
      {{"train", "--data", "x", dir / "x.npy"}, 2, "after --data x; write --data x=" + (dir / "x.npy")},
      {{"train", "--steps", "3", "4"}, 2, "train: unexpected argument '4'; see train --help"},
      {{"train", "--data", data + ",mean"}, 2, "'mean' is a key without a value; write mean=NUMBER"},
      {{"train", "--data", data, "--save", dir / "x.npy"},
       1,
       "--save: '" + (dir / "x.npy") + "' is a file; name a folder"},
      {{"train", "--data", data, "--tensorboard", dir / "x.npy/t"}, 1, "x.npy' is a file; name a folder"},
      {{"train", "--data", data, "--epochs", "0"}, 2, "--epochs: expected a whole number from 1; got: 0"},
      {{"train", "--seed", "99999999999999999999"}, 2, "--seed: the number is too large: 99999999999999999999"},
      {{"train", "--keep", "0x10"}, 2, "--keep: expected a whole number from 0; got: 0x10"},
      {{"generate", "--bytes", "-5"}, 2, "--bytes: expected a whole number from 0; got: -5"},
      {{"train", "--threads", "4294967297"}, 2, "--threads: expected a whole number of at most 4096; got: 42"},
      {{"train", "--data", data, "--lr", ""}, 2, "--lr: expected a value; got an empty one"},
      {{"train", "--data", data, "--save="}, 2, "--save"},
      {{"train", "--data", data, "--resume", ""}, 2, "--resume: expected a value; got an empty one"},
      {{"train", "--data", data, "--lr-schedule", "cosine,warmup=1,warmup=3"}, 2, "warmup is given twice"},
      {{"train", "--data", data, "--lr", "0.1", "--lr-schedule", "linear,min=5"}, 2, "min, which is above --lr 0.1"},
      {{"train", "--data", data, "--metrics", dir / "log", "--trace", dir / "log"},
       2,
       "is the file that --metrics writes"},
      {{"train", "--data", data, "--trace", dir / "x.npy"}, 2, "x.npy' is the file that --data reads"},
      {{"infer", "--input", data, "--output", "y=" + dir / "./x.npy"}, 2, "--output: '"},
      {{"train", "--last-batch", "keep"}, 2, "last-batch"},
      {{"train", "--checkpoint", "whole"}, 2, "checkpoint"},
      {{"train", "--data", data, "--checkpoint", "full"}, 2, "--checkpoint: it needs --save DIR"},
      {{"train", "--data", data, "--save", dir / "c", "--save-async"}, 2, "compile it with --save-async"},
      {{"inspect", "--jason"}, 2, "did you mean '--json'?"},
      {{"--json=5", "inspect"}, 2, "--json stands before the command; write it after: inspect --json"},
      {{"--steps", "5", "train"}, 2, "--steps stands before the command; write it after: train --steps"},
      {{"infer", "--data", data}, 2, "infer: unknown option '--data', which belongs to: train, evaluate"},
      {{"--epochs", "5"}, 2, "unknown option '--epochs', which belongs to: train"},
      {{"train", "--mesh", "dp=2"}, 2, "which belongs to the compiler: cleave compile --mesh; compile the model again"},
      {{"verify"}, 2, "unknown command 'verify', which belongs to the compiler: cleave verify PROGRAM"},
      {{"inspect", "--html", "x.html"},
       2,
       "inspect: unknown option '--html', which belongs to the compiler; use cleave inspect PROGRAM --html"},
      {{"inspect", "--trace", "t.json"}, 2, "use cleave inspect PROGRAM --trace"}, // train has an option of this name
      {{"infer", "--target-machine", "a100"}, 2, "use cleave inspect PROGRAM --target-machine"},
      {{"train"}, 2, "no data for input x"},
      {{"train", "--data", "a.npy"}, 2, "'a.npy': expected INPUT=FILE, as in x=a.npy; the model's inputs are x"},
      {{"infer", "--input", data, "--output", "y.npy"},
       2,
       "'y.npy': expected OUTPUT=FILE.npy; the model's outputs are"},
      {{"train", "--data", "y=a.npy"}, 2, "the model has no input 'y'"},
      {{"train", "--data", "x=" + (dir / "none.npy")}, 1, "none.npy"},
      {{"train", "--data", other}, 2, "fewer than one global batch of 4"},
      {{"train", "--data", data, "--epochs", "1", "--steps", "1"}, 2, "--epochs: give it or --steps, not both"},
      {{"train", "--data", data, "--lr-schedule", "cosin"}, 2, "'cosin' is not a schedule"},
      {{"train", "--data", data, "--clip-grad-norm", "1"}, 2, "compiled without gradient clipping"},
      {{"train", "--data", data, "--resume", dir / "nowhere"}, 1, "no checkpoint in"},
      {{"train", "--data", data, "--ranks", "3"}, 2, "--ranks 3, but compiled for 2 ranks (dp=2)"},
      {{"train", "--data", data, "--weights", dir / "x.npy"}, 2, "this is a NumPy array"},
      {{"train", "--data", data, "--save", "/proc/nothing"}, 1, "/proc/nothing"},
      {{"infer", "--input", data}, 2, "--output: none is given; for example: --input x=x.npy --output y=y.npy"},
      {{"infer", "--input", data, "--output", "y=y.npz"}, 2, "only .npy files are written"},
      {{"infer", "--input", data, "--output", "z=z.npy"}, 2, "no output 'z'; its outputs are y"},
  };
  TinyModel model(2);
  for (const Mistake &mistake : mistakes) {
    Result run = runCommandLine(model, mistake.arguments);
    EXPECT_EQ(run.code, mistake.code) << run.err;
    EXPECT_NE(run.err.find(mistake.expected), std::string::npos) << run.err;
    EXPECT_EQ(run.err.rfind("RuntimeMainTest: error: ", 0), 0u) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST(CommandLine, InferencePlansDoNotTrain) {
  Result run = runCommandLine(TinyModel(1, TinyKind::Inference), {"train", "--data", "x=a.npy"});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("was compiled for inference; compile it with --train"), std::string::npos) << run.err;
}

TEST(CommandLine, HelpHasExamples) {
  for (const char *command : {"", "train", "infer", "evaluate", "generate"}) {
    std::vector<std::string> arguments = {"--help"};
    if (*command)
      arguments.insert(arguments.begin(), command);
    Result run = runCommandLine(TinyModel(1), arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_NE(run.out.find("Example"), std::string::npos) << command;
  }
}

TEST(Inspect, PrintsPlanAndJson) {
  Result text = runCommandLine(TinyModel(2), {"inspect"}), json = runCommandLine(TinyModel(2), {"inspect", "--json"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("all_reduce"), std::string::npos);
  EXPECT_EQ(json.out[0], '{');
}

} // namespace
