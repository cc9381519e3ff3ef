// Measures how long a thread has waited for another rank. The thread must call look() regularly. While a process is
// stopped (Ctrl-Z, a debugger), it does not look, but its clock goes on. So of the time between two looks, at most
// kSliceSeconds count as waiting.
#ifndef CLEAVE_RUNTIME_BASE_WAITCLOCK_H
#define CLEAVE_RUNTIME_BASE_WAITCLOCK_H

#include <algorithm>
#include <cstdio>
#include <string>

namespace cleave::rt {

class WaitClock {
public:
  static constexpr double kSliceSeconds = 0.5; // look() is called much more often than once in this time

  // The seconds waited since the first look. `now` is in seconds, of any clock that only goes forward.
  double look(double now) {
    waited_ += looked_ ? std::min(now - last_, kSliceSeconds) : 0;
    last_ = now;
    looked_ = true;
    return waited_;
  }

private:
  double waited_ = 0, last_ = 0;
  bool looked_ = false;
};

// "300", or "0.25" below one second: for "waited 0.25 s".
inline std::string secondsText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.2g" : "%.0f", seconds);
  return text;
}

} // namespace cleave::rt

#endif
