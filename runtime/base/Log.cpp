#include "runtime/base/Log.h"

#include "runtime/base/OptionText.h"
#include "runtime/base/Printable.h"

#include <cstdlib>
#include <unistd.h>

namespace cleave::rt {

static const char *const kLevelNames[] = {"error", "warning", "info", "debug"}; // of CLEAVE_LOG
static const char *const kLevelWords[] = {"error", "warning", "note", "debug"}; // in lines
static std::string program = "cleave";

void setLogProgram(const std::string &name) { program = name; }

static void write(LogLevel level, int rank, const std::string &message) {
  std::string line = program;
  if (rank >= 0)
    line += "[" + std::to_string(rank) + "]";
  line += std::string(": ") + kLevelWords[static_cast<int>(level)] + ": " + printable(message) + "\n";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

static LogLevel shownLevel() {
  static const LogLevel level = [] {
    std::string asked = envString("CLEAVE_LOG", "info");
    for (int i = 0; i < 4; ++i)
      if (asked == kLevelNames[i])
        return static_cast<LogLevel>(i);
    write(LogLevel::Warning, -1, "CLEAVE_LOG='" + asked + "': expected error, warning, info or debug; it is ignored");
    return LogLevel::Info;
  }();
  return level;
}

bool logEnabled(LogLevel level) { return level <= shownLevel(); }

void log(LogLevel level, int rank, const std::string &message) {
  if (logEnabled(level))
    write(level, rank, message);
}

std::string envString(const char *name, const std::string &fallback) {
  const char *value = std::getenv(name);
  return value && *value ? value : fallback;
}

static bool readEnvNumber(const EnvNumber &variable, double *value) {
  std::string text = envString(variable.name);
  *value = variable.fallback;
  if (text.empty())
    return true;
  if (!parseReal(text, value))
    return false;
  return (*value >= variable.low && *value <= variable.high) || (variable.takesZero && *value == 0);
}

Status checkEnvNumber(const EnvNumber &variable) {
  double value;
  if (readEnvNumber(variable, &value))
    return Status::ok();
  return invalidArgument(std::string(variable.name) + "='" + envString(variable.name) + "': expected " +
                         variable.expected);
}

double envNumber(const EnvNumber &variable) {
  double value;
  return readEnvNumber(variable, &value) ? value : variable.fallback;
}

} // namespace cleave::rt
