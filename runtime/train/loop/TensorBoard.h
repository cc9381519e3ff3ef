// TensorBoard event files: TFRecords of `Event` protocol buffers, encoded here in full (no protobuf at run time).
//
// A record is  u64 length | u32 masked CRC-32C of it | data | u32 masked CRC-32C of the data.
// An event is  1: wall_time double | 2: step int64 | 3: file_version string, or 5: Summary { 1: Value { 1: tag, 2:
// simple_value } }.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_TENSORBOARD_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_TENSORBOARD_H

#include "runtime/train/loop/StepMetrics.h"

#include <string_view>

namespace cleave::rt {

// The CRC-32C of base/Crc32c.h, rotated as TFRecords store it.
uint32_t maskedCrc32c(std::string_view data);

std::string encodeRecord(std::string_view data);
// The first event of a file.
std::string encodeVersionEvent(double wallTime);
std::string encodeScalarEvent(double wallTime, int64_t step, const std::string &tag, float value);

class TensorBoard {
public:
  // A new event file DIR/events.out.tfevents.<seconds>.<host>.<pid>.<number>; none that is there is touched.
  Status open(const std::string &directory);
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
