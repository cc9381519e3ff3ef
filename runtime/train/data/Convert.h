// Elements of a file to elements of an input: copied, widened, or normalized.
//
// Allowed: the same type; integers into wider integers; anything numeric into f32 or f64 when mean/std ask for it. What
// would lose values silently (f64 into f32, i64 into i32) is refused: the user converts the file knowingly.
#ifndef CLEAVE_RUNTIME_TRAIN_DATA_CONVERT_H
#define CLEAVE_RUNTIME_TRAIN_DATA_CONVERT_H

#include "runtime/state/ElementType.h"

namespace cleave::rt {

// value * scale[c] + offset[c], where c is the element's channel: (index in the sample / inner) mod channels.
struct Normalization {
  std::vector<double> scale, offset;
  uint64_t inner = 1;
  bool isNone() const { return scale.empty(); }
};

// Converts `count` elements; `index` is the first one's place in its sample (for the channel).
using ConvertFn = void (*)(const std::byte *source, std::byte *target, uint64_t count, uint64_t index,
                           const Normalization &normalization);

// Null when the pair is not allowed.
ConvertFn findConversion(ElementType from, ElementType to, bool normalized);

} // namespace cleave::rt

#endif
