#include "runtime/train/loop/TensorBoard.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Crc32c.h"
#include "runtime/base/Directories.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <unistd.h>

namespace cleave::rt {
namespace {

template <typename T> void appendRaw(std::string *text, T value) {
  text->append(reinterpret_cast<const char *>(&value), sizeof value);
}

void appendVarint(std::string *text, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    text->push_back(static_cast<char>(value | 0x80));
  text->push_back(static_cast<char>(value));
}

// Wire types of protocol buffer fields: 0 varint, 1 fixed 64, 2 length-delimited, 5 fixed 32.
void appendTag(std::string *text, unsigned field, unsigned wire) { appendVarint(text, field << 3 | wire); }

void appendBytes(std::string *text, unsigned field, const std::string &bytes) {
  appendTag(text, field, 2);
  appendVarint(text, bytes.size());
  *text += bytes;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

} // namespace

uint32_t maskedCrc32c(std::string_view data) {
  uint32_t crc = crc32c(data.data(), data.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string encodeRecord(std::string_view data) {
  std::string length;
  appendRaw<uint64_t>(&length, data.size());
  std::string record = length;
  appendRaw(&record, maskedCrc32c(length));
  record += data;
  appendRaw(&record, maskedCrc32c(data));
  return record;
}

std::string encodeVersionEvent(double wallTime) {
  std::string event;
  appendTag(&event, 1, 1);
  appendRaw(&event, wallTime);
  appendBytes(&event, 3, "brain.Event:2");
  return event;
}

static std::string eventAt(double wallTime, int64_t step) {
  std::string event;
  appendTag(&event, 1, 1);
  appendRaw(&event, wallTime);
  appendTag(&event, 2, 0);
  appendVarint(&event, static_cast<uint64_t>(step));
  return event;
}

std::string encodeStartEvent(double wallTime, int64_t step) {
  constexpr uint64_t kStart = 1; // SessionLog.SessionStatus
  std::string log, event = eventAt(wallTime, step);
  appendTag(&log, 1, 0);
  appendVarint(&log, kStart);
  appendBytes(&event, 7, log);
  return event;
}

std::string encodeScalarEvent(double wallTime, int64_t step, const std::string &tag, float scalar) {
  std::string value;
  appendBytes(&value, 1, tag);
  appendTag(&value, 2, 5);
  appendRaw(&value, scalar);
  std::string summary;
  appendBytes(&summary, 1, value);
  std::string event = eventAt(wallTime, step);
  appendBytes(&event, 5, summary);
  return event;
}

Status TensorBoard::open(const std::string &directory, std::optional<uint64_t> resumed) {
  CLEAVE_TRY(makeDirectories(directory));
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  std::string name = directory + "/events.out.tfevents." + std::to_string(static_cast<long long>(now())) + "." + host +
                     "." + std::to_string(::getpid()) + ".";
  errno = EEXIST;
  for (unsigned number = 0; !file_ && errno == EEXIST; ++number) {
    path_ = name + std::to_string(number);
    file_.reset(std::fopen(path_.c_str(), "wxe"));
  }
  if (!file_)
    return fileError("write", path_, errno);
  CLEAVE_TRY(append(encodeVersionEvent(now())));
  return resumed ? append(encodeStartEvent(now(), static_cast<int64_t>(*resumed) + 1)) : Status::ok();
}

Status TensorBoard::append(const std::string &data) {
  std::string record = encodeRecord(data);
  bool written = std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size();
  return written ? Status::ok() : fileError("write", path_, errno);
}

Status TensorBoard::write(const StepMetrics &metrics) {
  if (!file_)
    return Status::ok();
  for (const auto &[tag, value] : metrics.values())
    CLEAVE_TRY(append(encodeScalarEvent(now(), static_cast<int64_t>(metrics.step), tag, static_cast<float>(value))));
  return std::fflush(file_.get()) == 0 ? Status::ok() : fileError("write", path_, errno);
}

} // namespace cleave::rt
