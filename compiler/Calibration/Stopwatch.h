// Measures how long a piece of work takes on a machine that others use at the same time. The result is the lower
// quartile of several tries, each long enough for the clock. Other work adds time, so the lower tries are nearest to a
// quiet machine. The lowest one may be an error of the clock.
//
// Work of one thread is timed by the clock of that thread, which stops while others have the core. Work of several
// threads is timed by wall time, because threads that wait for each other spend processor time too.
#ifndef CLEAVE_COMPILER_CALIBRATION_STOPWATCH_H
#define CLEAVE_COMPILER_CALIBRATION_STOPWATCH_H

#include <functional>

namespace cleave::calibration {

// Returns the seconds of one run of `work`, which uses `threads` threads. It takes about `budget` seconds, or more if a
// few runs take longer.
double quartileSeconds(const std::function<void()> &work, unsigned threads, double budget);

} // namespace cleave::calibration

#endif
