#include "compiler/Calibration/Stopwatch.h"

#include <algorithm>
#include <ctime>
#include <vector>

namespace cleave::calibration {

static double now(unsigned threads) {
  timespec time{};
  ::clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double quartileSeconds(const std::function<void()> &work, unsigned threads, double budget) {
  constexpr size_t kTries = 5, kLeast = 2; // tries at least; tries of long work
  constexpr double kLong = 8e-3;           // seconds of all tries
  constexpr double kShortestTry = 4e-5;    // seconds; some hundred times the time to read the clock
  double begin = now(threads);
  work(); // fills caches and pages, and initializes the library
  double once = std::max(now(threads) - begin, 1e-9);
  auto runs = static_cast<long>(std::clamp(kShortestTry / once, 1.0, 1e6));
  std::vector<double> tries;
  auto isEnough = [&] {
    double passed = now(threads) - begin;
    return tries.size() >= (passed > kLong ? kLeast : kTries) && passed >= budget;
  };
  while (!isEnough()) {
    double start = now(threads);
    for (long run = 0; run < runs; ++run)
      work();
    tries.push_back(std::max((now(threads) - start) / static_cast<double>(runs), 1e-10));
  }
  auto quartile = tries.begin() + static_cast<long>(tries.size() / 4);
  std::nth_element(tries.begin(), quartile, tries.end());
  return *quartile;
}

} // namespace cleave::calibration
