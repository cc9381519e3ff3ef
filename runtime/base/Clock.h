// The monotonic clock (CLOCK_MONOTONIC) as a number. Code that only waits may use std::chrono::steady_clock, which is
// the same clock.
#ifndef CLEAVE_RUNTIME_BASE_CLOCK_H
#define CLEAVE_RUNTIME_BASE_CLOCK_H

#include <chrono>
#include <cstdint>

namespace cleave::rt {

inline int64_t nanosecondsNow() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

inline double secondsNow() { return static_cast<double>(nanosecondsNow()) * 1e-9; }

} // namespace cleave::rt

#endif
