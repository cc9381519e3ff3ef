// TensorBoard event files: TFRecords of `Event` protocol buffers. They are encoded here, without a protobuf library.
//
// A record is  u64 length | u32 masked CRC-32C of it | data | u32 masked CRC-32C of the data.
// An event is  1: wall_time double | 2: step int64 | 3: file_version string, or 5: Summary { 1: Value { 1: tag, 2:
// simple_value } }, or 7: SessionLog { 1: status }.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_TENSORBOARD_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_TENSORBOARD_H

#include "runtime/train/loop/StepMetrics.h"

#include <string_view>

namespace cleave::rt {

// The CRC-32C of base/Crc32c.h, rotated as TFRecords store it.
uint32_t maskedCrc32c(std::string_view data);

std::string encodeRecord(std::string_view data);
// The event that begins a file.
std::string encodeVersionEvent(double wallTime);
// The event with which TensorBoard drops what earlier files of the folder have from this step on (purge_step of
// PyTorch's SummaryWriter).
std::string encodeStartEvent(double wallTime, int64_t step);
std::string encodeScalarEvent(double wallTime, int64_t step, const std::string &tag, float value);

class TensorBoard {
public:
  // Creates a new event file DIR/events.out.tfevents.<seconds>.<host>.<pid>.<number>. Existing files are not changed. A
  // run that continues after step `resumed` replaces what they have of later steps.
  Status open(const std::string &directory, std::optional<uint64_t> resumed);
  Status write(const StepMetrics &metrics);

private:
  Status append(const std::string &data);

  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

} // namespace cleave::rt

#endif
