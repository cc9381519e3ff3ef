// The one way the runtime talks: lines on stderr with a prefix and, where there are several, the rank.
//
//   log(LogLevel::Warning, rank, "the last batch is dropped");     // cleave[1]: warning: the last batch is dropped
//
// CLEAVE_LOG=error|warning|info|debug sets the least important level that is shown (info).
#ifndef CLEAVE_RUNTIME_BASE_LOG_H
#define CLEAVE_RUNTIME_BASE_LOG_H

#include <string>

namespace cleave::rt {

enum class LogLevel { Error, Warning, Info, Debug };

// `rank` < 0: the line is not about one rank. A line is written by one system call, so ranks do not interleave.
void log(LogLevel level, int rank, const std::string &message);
bool logEnabled(LogLevel level);

// The value of an environment switch, or the fallback when it is not set.
std::string envString(const char *name, const std::string &fallback = "");
// As a number; a value that is not one gives a warning and the fallback.
double envNumber(const char *name, double fallback);

} // namespace cleave::rt

#endif
