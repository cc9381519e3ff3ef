#include "runtime/train/loop/StepTimes.h"

#include "runtime/base/Counted.h"
#include "runtime/base/OptionText.h"
#include "runtime/plan/Properties.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cleave::rt {

void StepTimes::add(double seconds) {
  if (count_++ == 0) {
    first_ = seconds;
    return;
  }
  double place = std::log(std::max(seconds, kShortest) / kShortest) / std::log(kRatio);
  ++classes_[std::min(static_cast<size_t>(place), kClasses - 1)];
}

double StepTimes::median() const {
  if (count_ <= 1)
    return first_;
  uint64_t counted = count_ - 1;
  return (timeAfter((counted - 1) / 2) + timeAfter(counted / 2)) / 2;
}

double StepTimes::timeAfter(uint64_t shorter) const {
  uint64_t before = 0;
  size_t place = 0;
  while (place + 1 < kClasses && before + classes_[place] <= shorter)
    before += classes_[place++];
  return kShortest * std::pow(kRatio, static_cast<double>(place) + 0.5);
}

static std::string secondsText(double seconds) {
  char text[40];
  if (seconds >= 1)
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  else if (seconds >= 1e-3)
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  return text;
}

std::string stepTimeReport(const fb::Plan &plan, const StepTimes &times, unsigned threads) {
  if (times.count() == 0)
    return "";
  double measured = times.median(), predicted = 0;
  if (!parseReal(propertyOf(plan, kPredictedSecondsProperty), &predicted))
    predicted = 0;
  std::string steps = times.count() == 1 ? "the first step" : "median of " + counted(times.count() - 1, "step");
  std::string text = "measured " + secondsText(measured) + " (" + steps + ")";
  if (predicted <= 0)
    return "step time: " + text +
           "; no prediction: the machine was not calibrated when the program was compiled (run cleave calibrate, or name "
           "a machine by cleave compile --target-machine)";
  std::string machine = propertyOf(plan, kPredictedMachineProperty);
  if (unsigned planned = std::max(1u, plan.threads()); threads != planned)
    machine += "; this run has " + counted(threads, "thread") + " a rank and the prediction " + std::to_string(planned);
  char ratio[40];
  std::snprintf(ratio, sizeof ratio, "%.2f", measured / predicted);
  return "step time: predicted " + secondsText(predicted) + " (" + machine + "), " + text + ", " + ratio + " times that";
}

} // namespace cleave::rt
