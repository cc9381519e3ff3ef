// The runtime's only output of messages: lines on stderr with a prefix and, if there are several ranks, the rank.
//
//   log(LogLevel::Warning, rank, "the last batch is dropped");     // model[1]: warning: the last batch is dropped
//
// The prefix is the name of the compiled program; in programs of others that use the runtime as a library, it is
// "cleave". CLEAVE_LOG=error|warning|info|debug sets the least important level that is shown. The default is info,
// which shows notes.
#ifndef CLEAVE_RUNTIME_BASE_LOG_H
#define CLEAVE_RUNTIME_BASE_LOG_H

#include "runtime/base/Status.h"

#include <string>

namespace cleave::rt {

enum class LogLevel { Error, Warning, Info, Debug };

// Sets the prefix. For main(), before other threads run.
void setLogProgram(const std::string &name);
// With `rank` < 0, the line is not about one rank. Each line is one system call, so lines of different ranks do not
// mix.
void log(LogLevel level, int rank, const std::string &message);
bool logEnabled(LogLevel level);

// The value of an environment variable, or `fallback` if it is not set or empty.
std::string envString(const char *name, const std::string &fallback = "");

// An environment variable that holds a number.
struct EnvNumber {
  const char *name;
  double fallback;  // if it is not set or empty
  double low, high; // both are accepted
  const char *expected;
  bool takesZero = false; // 0 is accepted, too: it turns off what the number limits
};

// Returns InvalidArgument if the variable's value is not a number of its range:
// "CLEAVE_COMM_TIMEOUT_S='3s': expected a positive number of seconds".
Status checkEnvNumber(const EnvNumber &variable);
// The value. If checkEnvNumber() refuses it, it is the fallback.
double envNumber(const EnvNumber &variable);

} // namespace cleave::rt

#endif
