#include "runtime/train/loop/Progress.h"

#include "runtime/base/Printable.h"
#include "runtime/comm/Launcher.h"

#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace cleave::rt {

// Nobody reads faster, and a launcher's terminal must not fill up with unread text.
constexpr std::chrono::milliseconds kRedraw{100};

// mpirun gives every process a terminal of its own, and copies its output, possibly to a file.
static bool isInPlace() { return ::isatty(1) == 1 && !startedAsOneOfSeveral(); }

Progress::Progress(uint64_t totalSteps, uint64_t logEvery, std::string unit, bool quiet)
    : total_(totalSteps), every_(logEvery), unit_(std::move(unit)), quiet_(quiet), terminal_(isInPlace()) {}

void Progress::step(const StepMetrics &metrics, double perSecond, double stepSeconds) {
  bool due = metrics.step % every_ == 0 || metrics.step == total_;
  auto now = Clock::now();
  bool redraws = terminal_ && now - shownAt_ >= kRedraw;
  if (quiet_ || !(due || redraws))
    return;
  shownAt_ = now;
  double left = static_cast<double>(total_ - metrics.step) * stepSeconds;
  char line[256];
  std::snprintf(line, sizeof line, "step %llu/%llu  loss %.4f  lr %.2e  %s %s/s  %s left",
                static_cast<unsigned long long>(metrics.step), static_cast<unsigned long long>(total_), metrics.loss,
                metrics.lr.value_or(0), formatCount(perSecond).c_str(), unit_.c_str(), formatDuration(left).c_str());
  std::printf(terminal_ ? "\r\x1b[K%s" : "%s\n", line);
  std::fflush(stdout);
  open_ = terminal_;
  if (due)
    finish();
}

void Progress::note(const std::string &line) {
  if (quiet_)
    return;
  std::printf(open_ ? "\r\x1b[K%s\n" : "%s\n", printable(line).c_str());
  std::fflush(stdout);
  open_ = false;
}

void Progress::finish() {
  if (open_)
    std::printf("\n");
  std::fflush(stdout);
  open_ = false;
}

std::string formatDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "?";
  auto whole = static_cast<unsigned long long>(seconds + 0.5);
  char text[40];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%llu:%02llu", whole / 60, whole % 60);
  return text;
}

std::string formatCount(double value) {
  char text[40];
  if (value >= 1e6)
    std::snprintf(text, sizeof text, "%.2fM", value / 1e6);
  else if (value >= 1e3)
    std::snprintf(text, sizeof text, "%.1fk", value / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

} // namespace cleave::rt
