#include "runtime/train/loop/Evaluator.h"
#include "runtime/train/loop/Progress.h"
#include "runtime/train/loop/StepMetrics.h"
#include "runtime/train/loop/TensorBoard.h"

#include "test/runtime/TempDir.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

using namespace cleave::rt;

namespace {

std::string hex(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

TEST(TensorBoard, GoldenBytes) {
  // The version event with wall time 0, as TensorFlow writes it: 24 bytes of data.
  EXPECT_EQ(hex(encodeVersionEvent(0)), "0900000000000000001a0d627261696e2e4576656e743a32");
  // Event{wall_time: 1, step: 300, summary{value{tag: "loss", simple_value: 0.5}}}
  EXPECT_EQ(hex(encodeScalarEvent(1, 300, "loss", 0.5f)), "09000000000000f03f10ac022a0d0a0b0a046c6f7373150000003f");
  EXPECT_EQ(hex(encodeStartEvent(1, 300)), "09000000000000f03f10ac023a020801");
}

TEST(TensorBoard, FilesAreRecordsWithGoodChecksums) {
  cleave::test::TempDir dir;
  {
    TensorBoard board;
    ASSERT_TRUE(board.open(dir / "tb", std::nullopt).isOk());
    StepMetrics metrics;
    metrics.step = 3;
    metrics.loss = 2.5;
    metrics.lr = 0.1;
    ASSERT_TRUE(board.write(metrics).isOk());
  }
  std::string path = std::filesystem::directory_iterator(dir / "tb")->path();
  EXPECT_NE(path.find("events.out.tfevents."), std::string::npos);
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  unsigned records = 0;
  for (size_t at = 0; at < text.size(); ++records) {
    uint64_t length = 0;
    uint32_t lengthCrc = 0, dataCrc = 0;
    ASSERT_LE(at + 16, text.size());
    std::memcpy(&length, &text[at], 8);
    std::memcpy(&lengthCrc, &text[at + 8], 4);
    ASSERT_LE(at + 16 + length, text.size());
    std::memcpy(&dataCrc, &text[at + 12 + length], 4);
    EXPECT_EQ(lengthCrc, maskedCrc32c(text.substr(at, 8)));
    EXPECT_EQ(dataCrc, maskedCrc32c(text.substr(at + 12, length)));
    at += 16 + length;
  }
  EXPECT_EQ(records, 3u); // version, loss, lr
}

TEST(TensorBoard, ARunThatContinuesReplacesLaterSteps) {
  cleave::test::TempDir dir;
  TensorBoard board;
  ASSERT_TRUE(board.open(dir / "tb", 7).isOk());
  ASSERT_TRUE(board.write({}).isOk()); // flushes
  auto file = std::filesystem::directory_iterator(dir / "tb")->path();
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  std::string start = encodeStartEvent(0, 8).substr(9); // after the time
  EXPECT_NE(text.find(start), std::string::npos);
}

TEST(TensorBoard, FilesOfOneSecondStandBesideEachOther) {
  cleave::test::TempDir dir;
  for (int run = 0; run < 3; ++run) {
    TensorBoard board;
    ASSERT_TRUE(board.open(dir / "tb", std::nullopt).isOk());
  }
  std::filesystem::directory_iterator files(dir / "tb");
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
}

TEST(Metrics, JsonLineHasTheDocumentedKeys) {
  StepMetrics metrics;
  metrics.step = 12;
  metrics.loss = 0.1;
  EXPECT_EQ(toJsonLine(metrics), R"({"step": 12, "loss": 0.1})");
  metrics.loss = std::nan("");
  metrics.epoch = 9;
  metrics.samplesPerS = 1.0 / 3;
  metrics.valLoss = 2;
  metrics.valAccuracy = 0.5;
  metrics.lr = 3;
  metrics.gradNorm = 4;
  metrics.tokensPerS = 5;
  metrics.stepS = 6;
  metrics.peakBytes = uint64_t(1) << 40;
  metrics.commBytes = 7;
  metrics.lossScale = 8;
  metrics.skipped = 1;
  EXPECT_EQ(
      toJsonLine(metrics),
      R"({"step": 12, "loss": null, "epoch": 9, "val_loss": 2, "val_accuracy": 0.5, "lr": 3, "grad_norm": 4, )"
      R"("samples_per_s": 0.3333333333333333, "tokens_per_s": 5, "step_s": 6, "peak_bytes": 1099511627776, "comm_bytes": 7, "loss_scale": 8, )"
      R"("skipped": 1})");
}

std::string resumedMetrics(const cleave::test::TempDir &dir, const std::string &before, uint64_t step) {
  std::string path = dir.write("m.jsonl", before);
  MetricsFile file;
  EXPECT_TRUE(file.open(path, step).isOk());
  StepMetrics metrics;
  metrics.step = step + 1;
  EXPECT_TRUE(file.write(metrics).isOk());
  std::ifstream written(path);
  return std::string((std::istreambuf_iterator<char>(written)), {});
}

TEST(Metrics, AResumedRunGoesOnBehindItsStep) {
  cleave::test::TempDir dir;
  std::string one = "{\"step\": 1, \"loss\": 5}\n", two = "{\"step\": 2, \"loss\": 0}\n";
  std::string three = "{\"step\": 3, \"loss\": 7}\n";
  EXPECT_EQ(resumedMetrics(dir, one + "{\"step\": 2, \"loss\": 6}\n" + three, 1), one + two);
  EXPECT_EQ(resumedMetrics(dir, one + "{\"step\": 2, \"lo", 1), one + two); // the process was killed during a write
  EXPECT_EQ(resumedMetrics(dir, one, 1), one + two);
  EXPECT_EQ(resumedMetrics(dir, "", 1), two);
  // A file of another program loses nothing.
  EXPECT_EQ(resumedMetrics(dir, "notes\n" + three, 1), "notes\n" + three + two);
  EXPECT_EQ(resumedMetrics(dir, "{\"steps\": 3, \"loss\": 7}\n", 1), "{\"steps\": 3, \"loss\": 7}\n" + two);
}

TEST(Metrics, AFileHasOneWriter) {
  cleave::test::TempDir dir;
  std::string path = dir.write("m.jsonl", "");
  MetricsFile first, second;
  ASSERT_TRUE(first.open(path, std::nullopt).isOk());
  StepMetrics metrics;
  metrics.step = 1;
  ASSERT_TRUE(first.write(metrics).isOk());
  for (std::optional<uint64_t> resumed : {std::optional<uint64_t>(), std::optional<uint64_t>(0)}) {
    Status opened = MetricsFile().open(path, resumed);
    EXPECT_NE(opened.message().find("another process writes"), std::string::npos) << opened.message();
    EXPECT_NE(std::filesystem::file_size(path), 0u);
  }
  first = MetricsFile();
  EXPECT_TRUE(second.open(path, 0).isOk());
  EXPECT_EQ(std::filesystem::file_size(path), 0u); // step 1 runs again
  EXPECT_TRUE(MetricsFile().open("/dev/null", std::nullopt).isOk());
}

TEST(Progress, Formats) {
  EXPECT_EQ(formatDuration(12.4), "0:12");
  EXPECT_EQ(formatDuration(3723), "1:02:03");
  EXPECT_EQ(formatCount(18234), "18.2k");
  EXPECT_EQ(formatCount(1.25e6), "1.25M");
}

// The losses of the samples that fill the last batch are subtracted. An infinite loss stays infinite. The counts are
// exact.
TEST(EvaluationSums, TakingBackKeepsInfinities) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (double loss : {6.0, infinite, -infinite}) {
    EvaluationSums sums;
    sums.add({3, 4, 2, 4});
    sums.add({std::isfinite(loss) ? 1 + loss : loss, 4, 1, 4}); // one sample, and three copies of another one
    sums.takeBack({4 * loss / 3, 4, 0, 4}, 0.75);
    EXPECT_EQ(sums.loss, std::isfinite(loss) ? 4 : loss);
    EXPECT_EQ(sums.count, 5);
    EXPECT_EQ(sums.correct, 3);
    EXPECT_EQ(sums.predictions, 5);
  }
  EvaluationSums sums;
  sums.add({std::nan(""), 1, 0, 0});
  sums.takeBack({std::nan(""), 1, 0, 0}, 0.5);
  EXPECT_TRUE(std::isnan(sums.loss));
}

} // namespace
