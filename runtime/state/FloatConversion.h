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

// The first of `count` elements that is a finite number before the conversion and infinite after it: 1e300 as f32, or
// 1e6 as f16. Returns `count` if there is none. Costs one look at the converted elements where there is none.
size_t findOverflow(ElementType from, const std::byte *source, ElementType to, const std::byte *target, size_t count);

} // namespace cleave::rt

#endif
