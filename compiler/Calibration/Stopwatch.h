// How long a piece of work takes on a machine that others use, too: the lower quartile of several tries, each long
// enough for the clock. Other work adds time, so that the lower tries are the nearest to a quiet machine; the least of
// them is the one that a glitch of the clock has made.
//
// Work of one thread is timed by that thread's own clock, which stands still while others have the core. Work of
// several is timed by the wall's: threads that wait for each other spend their own time, too.
#ifndef CLEAVE_COMPILER_CALIBRATION_STOPWATCH_H
#define CLEAVE_COMPILER_CALIBRATION_STOPWATCH_H

#include <functional>

namespace cleave::calibration {

// Seconds of one run of `work`, which has that many threads. Takes about `budget` seconds, more where a few runs take
// longer.
double quartileSeconds(const std::function<void()> &work, unsigned threads, double budget);

} // namespace cleave::calibration

#endif
