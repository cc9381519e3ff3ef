// Converts floating-point elements: weights of an f32 file to bf16 states, and back. Conversion to a narrower type
// rounds once, to nearest, ties to even.
#ifndef CLEAVE_RUNTIME_STATE_FLOATCONVERSION_H
#define CLEAVE_RUNTIME_STATE_FLOATCONVERSION_H

#include "runtime/state/ElementType.h"

namespace cleave::rt {

// True for f32, f64, f16 and bf16.
bool isFloating(ElementType type);
// True if elements of one type can be stored as the other: equal types, or both floating-point types.
bool isConvertible(ElementType from, ElementType to);
// Converts `count` elements. Elements of equal types are copied.
void convertElements(ElementType from, const std::byte *source, ElementType to, std::byte *target, size_t count);

} // namespace cleave::rt

#endif
