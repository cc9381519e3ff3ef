// Checks numbers that were converted to the narrower type of a state.
#ifndef CLEAVE_RUNTIME_STATE_NARROWEDNUMBERS_H
#define CLEAVE_RUNTIME_STATE_NARROWEDNUMBERS_H

#include "runtime/base/Status.h"
#include "runtime/state/ElementType.h"

#include <string>

namespace cleave::rt {

// Numbers of a tensor: as they were read, and as a state has them.
struct NarrowedNumbers {
  ElementType from;
  const std::byte *source;
  ElementType to;
  const std::byte *target;
  uint64_t first, count; // the place of the first number in the tensor, and how many there are
};

// Looks for a number that has become infinite. A parameter or an optimizer's state with one would make every loss
// infinite or not a number, so it is an error if `isTrained`. Buffers and constants may be masks: the smallest number of
// f32, which is -inf as f16, still hides what it is added to, and is meant so. Others cause a warning.
Status checkNarrowed(const NarrowedNumbers &numbers, const std::string &tensor, bool isTrained);

} // namespace cleave::rt

#endif
