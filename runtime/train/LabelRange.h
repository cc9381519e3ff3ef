// Which numbers an input of class labels may hold. The compiler knows it from the loss and writes it as the plan's
// property `labels.NAME`: "10" for classes 0 to 9, "10,-100" where -100 means that a sample is not to be counted.
#ifndef CLEAVE_RUNTIME_TRAIN_LABELRANGE_H
#define CLEAVE_RUNTIME_TRAIN_LABELRANGE_H

#include "runtime/device/Rank.h"

#include <optional>

namespace cleave::rt {

struct LabelRange {
  int64_t classes = 0; // 0: not an input of labels
  std::optional<int64_t> ignored;

  // The bytes are those of the input's port: i64 or i32 (others are not checked).
  Status check(const fb::Port &port, Bytes bytes) const;
};

// One for each input of the program.
std::vector<LabelRange> labelRanges(const fb::Plan &plan, const fb::Program &program);

} // namespace cleave::rt

#endif
