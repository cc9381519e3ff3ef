// The runtime's only output of messages: lines on stderr with a prefix and, if there are several ranks, the rank.
//
//   log(LogLevel::Warning, rank, "the last batch is dropped");     // cleave[1]: warning: the last batch is dropped
//
// CLEAVE_LOG=error|warning|info|debug sets the least important level that is shown. The default is info.
#ifndef CLEAVE_RUNTIME_BASE_LOG_H
#define CLEAVE_RUNTIME_BASE_LOG_H

#include <string>

namespace cleave::rt {

enum class LogLevel { Error, Warning, Info, Debug };

// With `rank` < 0, the line is not about one rank. Each line is one system call, so lines of different ranks do not
// mix.
void log(LogLevel level, int rank, const std::string &message);
bool logEnabled(LogLevel level);

// The value of an environment variable, or `fallback` if it is not set or empty.
std::string envString(const char *name, const std::string &fallback = "");
// The value as a number. If it is not a number, a warning says so, and `fallback` is returned.
double envNumber(const char *name, double fallback);

} // namespace cleave::rt

#endif
