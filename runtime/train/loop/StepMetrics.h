// What one training step has to tell, and where it is told: JSON lines, TensorBoard.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_STEPMETRICS_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_STEPMETRICS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cleave::rt {

struct StepMetrics {
  uint64_t step = 0; // the first is 1
  double loss = 0;
  std::optional<uint64_t> epoch; // the first is 1
  std::optional<double> valLoss, valAccuracy, lr, gradNorm, samplesPerS, tokensPerS, stepS, lossScale;
  std::optional<uint64_t> peakBytes, commBytes, skipped;

  // The keys that apply, in the order of a line, without "step".
  std::vector<std::pair<const char *, double>> values() const;
};

// One JSON object per line and step, flushed line by line so that others can follow it.
class MetricsFile {
public:
  // Goes on after what a run that was resumed after `resumedStep` has written up to that step: later lines are of
  // steps that come again. Without it a new file is started.
  Status open(const std::string &path, std::optional<uint64_t> resumedStep);
  Status write(const StepMetrics &metrics);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// The JSON text of one line, without the line's end. Values that JSON lacks (NaN, infinity) are null.
std::string toJsonLine(const StepMetrics &metrics);

} // namespace cleave::rt

#endif
