// The results of a training step, and the file of JSON lines that records them.
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

  // The keys that have a value, in the order of a line, without "step".
  std::vector<std::pair<const char *, double>> values() const;
};

// Writes one JSON object per step, on a line of its own. Lines are flushed, so that other programs can follow the file.
class MetricsFile {
public:
  // With `resumedStep`, lines of later steps are removed, because these steps will run again, and new lines are
  // appended. Without it, a new file is started. A file that another process writes is refused, and stays as it is.
  Status open(const std::string &path, std::optional<uint64_t> resumedStep);
  Status write(const StepMetrics &metrics);

private:
  Status openLocked(bool appends);

  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// The JSON text of one line, without the end of line. NaN and infinity become null, because JSON does not have them.
std::string toJsonLine(const StepMetrics &metrics);

} // namespace cleave::rt

#endif
