// The progress line: it is updated in place on a terminal, and otherwise printed every --log-every steps.
//
//   step 120/200  loss 2.4131  lr 3.0e-04  18.2k tokens/s  0:12 left
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_PROGRESS_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_PROGRESS_H

#include "runtime/train/loop/StepMetrics.h"

#include <chrono>
#include <string>

namespace cleave::rt {

class Progress {
public:
  // `unit` is "tokens" or "samples". If `quiet` (all processes but the leader), nothing is printed.
  Progress(uint64_t totalSteps, uint64_t logEvery, std::string unit, bool quiet);
  ~Progress() { finish(); }

  // `perSecond`: throughput of recent steps; `stepSeconds`: their time.
  void step(const StepMetrics &metrics, double perSecond, double stepSeconds);
  // Prints a line that stays, for evaluations and checkpoints.
  void note(const std::string &line);
  // Ends the line that is updated in place.
  void finish();

private:
  uint64_t total_, every_;
  std::string unit_;
  bool quiet_, terminal_, open_ = false;
  using Clock = std::chrono::steady_clock;
  Clock::time_point shownAt_;
};

// "0:12", "1:02:03"
std::string formatDuration(double seconds);
// "950", "18.2k", "1.25M"
std::string formatCount(double value);

} // namespace cleave::rt

#endif
