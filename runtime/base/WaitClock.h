// How long a thread has waited for somebody, looking now and then. A process that is stopped (Ctrl-Z, a debugger) does
// not look, and its clock goes on: what is more than a slice between two looks is not waiting.
#ifndef CLEAVE_RUNTIME_BASE_WAITCLOCK_H
#define CLEAVE_RUNTIME_BASE_WAITCLOCK_H

#include <algorithm>

namespace cleave::rt {

class WaitClock {
public:
  static constexpr double kSliceSeconds = 0.5; // who looks does so many times in it

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

} // namespace cleave::rt

#endif
