// The median time of a run's steps, of any number of steps in fixed memory. A line at the end of a run compares it with
// the time that the compiler predicted (the plan's properties predicted.seconds and predicted.machine).
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_STEPTIMES_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_STEPTIMES_H

#include "runtime/plan/Plan_generated.h"

#include <array>
#include <cstdint>
#include <string>

namespace cleave::rt {

class StepTimes {
public:
  // The first step of the process touches memory for the first time. It counts only if it is the only step.
  void add(double seconds);
  uint64_t count() const { return count_; }
  // With an error of at most half a percent. 0 if there were no steps.
  double median() const;

private:
  // The time of the step with `shorter` steps before it in the order of their times.
  double timeAfter(uint64_t shorter) const;
  // Classes of times, from a tenth of a microsecond to a day. Each is one percent longer than the one before.
  static constexpr double kShortest = 1e-7, kRatio = 1.01;
  static constexpr size_t kClasses = 2800;
  double first_ = 0;
  uint64_t count_ = 0;
  std::array<uint32_t, kClasses> classes_{};
};

// For example "step time: predicted 12.3 ms (AMD EPYC, 1 thread a rank), measured 12.9 ms (median of 18 steps), 1.05
// times that". `threads`: compute threads of a rank in this run. Empty without steps.
std::string stepTimeReport(const fb::Plan &plan, const StepTimes &times, unsigned threads);

} // namespace cleave::rt

#endif
