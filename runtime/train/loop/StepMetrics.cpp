#include "runtime/train/loop/StepMetrics.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/FileLock.h"
#include "runtime/base/FileMapping.h"

#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace cleave::rt {
namespace {

// The shortest text that gives the same double when it is read. Whole numbers (bytes) have no decimal point.
std::string number(double value) {
  if (!std::isfinite(value))
    return "null";
  char text[40];
  if (value == std::floor(value) && std::fabs(value) < 9e15)
    std::snprintf(text, sizeof text, "%.0f", value);
  else
    *std::to_chars(text, text + sizeof text - 1, value).ptr = '\0';
  return text;
}

// Returns the step of a line that toJsonLine() has written.
std::optional<uint64_t> stepOf(std::string_view line) {
  constexpr std::string_view kBegin = "{\"step\": ";
  uint64_t step = 0;
  if (line.substr(0, kBegin.size()) != kBegin || line.back() != '}')
    return std::nullopt;
  auto [end, error] = std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), step);
  return error == std::errc() && *end == ',' ? std::optional<uint64_t>(step) : std::nullopt;
}

// Removes the lines of later steps, and an unfinished last line of a killed process. If the file has any other line, it
// was not written by this class, and stays as it is.
Status cutBehind(const std::string &path, uint64_t step) {
  std::error_code error;
  std::string target = std::filesystem::canonical(path, error).string(); // a symbolic link stays one
  if (error || !std::filesystem::is_regular_file(target, error))
    return Status::ok();
  std::string kept;
  {
    FileMapping file;
    CLEAVE_TRY(FileMapping::open(target, &file));
    std::string_view text(reinterpret_cast<const char *>(file.data()), file.size());
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      std::optional<uint64_t> found = stepOf(text.substr(begin, end - begin));
      if (!found)
        return Status::ok();
      if (*found <= step)
        kept += text.substr(begin, end + 1 - begin);
    }
    if (kept.size() == text.size())
      return Status::ok();
  }
  return writeFileAtomically(target, kept);
}

} // namespace

std::vector<std::pair<const char *, double>> StepMetrics::values() const {
  std::vector<std::pair<const char *, double>> result = {{"loss", loss}};
  auto add = [&](const char *key, const auto &value) {
    if (value)
      result.emplace_back(key, static_cast<double>(*value));
  };
  add("epoch", epoch);
  add("val_loss", valLoss);
  add("val_accuracy", valAccuracy);
  add("lr", lr);
  add("grad_norm", gradNorm);
  add("samples_per_s", samplesPerS);
  add("tokens_per_s", tokensPerS);
  add("step_s", stepS);
  add("peak_bytes", peakBytes);
  add("comm_bytes", commBytes);
  add("loss_scale", lossScale);
  add("skipped", skipped);
  return result;
}

std::string toJsonLine(const StepMetrics &metrics) {
  std::string line = "{\"step\": " + std::to_string(metrics.step);
  for (const auto &[key, value] : metrics.values())
    line += std::string(", \"") + key + "\": " + number(value);
  return line + "}";
}

// Opens the file as it is, and locks it. Pipes and terminals may have several writers.
Status MetricsFile::openLocked(bool appends) {
  // Without O_NONBLOCK, opening a pipe would wait for a reader without a message.
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (appends ? O_APPEND : 0);
  int fd = ::open(path_.c_str(), flags, 0666);
  if (fd < 0 && errno == ENXIO)
    return invalidArgument(path_ + ": nobody reads this pipe; start its reader first, or name a file");
  if (fd >= 0)
    ::fcntl(fd, F_SETFL, flags & O_APPEND);
  file_.reset(fd < 0 ? nullptr : ::fdopen(fd, appends ? "a" : "w"));
  if (!file_)
    return fileError("write", path_, errno);
  struct stat info;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && tryLock(fd) == EWOULDBLOCK)
    return invalidArgument("another process writes " + path_ + "; give each run a file of its own");
  return Status::ok();
}

Status MetricsFile::open(const std::string &path, std::optional<uint64_t> resumedStep) {
  path_ = path;
  CLEAVE_TRY(openLocked(resumedStep.has_value()));
  if (!resumedStep) {
    bool isCut = ::ftruncate(::fileno(file_.get()), 0) == 0 || errno == EINVAL; // a pipe has no length
    return isCut ? Status::ok() : fileError("write", path, errno);
  }
  CLEAVE_TRY(cutBehind(path, *resumedStep)); // may put another file in its place
  file_.reset();
  return openLocked(/*appends=*/true);
}

Status MetricsFile::write(const StepMetrics &metrics) {
  if (!file_)
    return Status::ok();
  std::string line = toJsonLine(metrics) + "\n";
  bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0;
  return written ? Status::ok() : fileError("write", path_, errno);
}

} // namespace cleave::rt
