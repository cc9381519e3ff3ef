// Reads and writes one element of any type as a number. For constants, scalars of the host, and results. Not for bulk
// data.
#ifndef CLEAVE_RUNTIME_STATE_ELEMENTVALUE_H
#define CLEAVE_RUNTIME_STATE_ELEMENTVALUE_H

#include "runtime/state/ElementType.h"

#include <cmath>
#include <string>

namespace cleave::rt {

// Stores `value`. It is rounded to nearest (even) for floating-point types, and truncated for integers.
void storeElement(ElementType type, double value, std::byte *target);
// Stores an integer. It is exact if the type is an integer type (a seed has 64 significant bits).
void storeInteger(ElementType type, int64_t value, std::byte *target);
double loadElement(ElementType type, const std::byte *source);

// "not a number" or "infinite": what a value that is not finite is.
inline std::string whatItIs(double value) { return std::isnan(value) ? "not a number" : "infinite"; }

// A value of a step's data that explains why the loss is not finite.
struct NonFiniteValue {
  std::string text;        // such as "input 'x' holds a value that is infinite"; empty: none was found
  bool isInfinite = false; // of the value that was found; false: it is not a number
  bool sawAll = true;      // false: none was found, and not all values could be looked at
};

// The index of the first NaN among the values, or else of the first infinite value; `count` if all are finite, as
// integers are.
uint64_t findNonFinite(ElementType type, const std::byte *values, uint64_t count);

} // namespace cleave::rt

#endif
