// Converts elements of a file to elements of an input: copies, widens or normalizes them.
//
// These are allowed: the same type; integers to wider integers; any number to f32 or f64 if mean and std are given. A
// conversion that would lose digits without a message (f64 to f32, i64 to i32) is refused, so the user converts the
// file knowingly.
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

// Converts `count` elements. `index` is the index of the first one in its sample (for the channel).
using ConvertFn = void (*)(const std::byte *source, std::byte *target, uint64_t count, uint64_t index,
                           const Normalization &normalization);

// Returns null if the conversion is not allowed.
ConvertFn findConversion(ElementType from, ElementType to, bool normalized);

} // namespace cleave::rt

#endif
