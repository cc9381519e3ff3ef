#include "runtime/train/StepMetrics.h"

#include "runtime/state/AtomicFile.h"

#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cmath>

namespace cleave::rt {
namespace {

// The fewest digits that give the same double back; whole numbers (bytes) are written as such.
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

Status MetricsFile::open(const std::string &path, bool append) {
  path_ = path;
  file_.reset(std::fopen(path.c_str(), append ? "ae" : "we"));
  return file_ ? Status::ok() : fileError("write", path, errno);
}

Status MetricsFile::write(const StepMetrics &metrics) {
  if (!file_)
    return Status::ok();
  std::string line = toJsonLine(metrics) + "\n";
  bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0;
  return written ? Status::ok() : fileError("write", path_, errno);
}

} // namespace cleave::rt
