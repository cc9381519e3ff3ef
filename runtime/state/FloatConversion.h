// Floating-point elements of one type as another's: weights of an f32 file in bf16 states, and the other way round.
// To a narrower type they are rounded to nearest, ties to even, once.
#ifndef CLEAVE_RUNTIME_STATE_FLOATCONVERSION_H
#define CLEAVE_RUNTIME_STATE_FLOATCONVERSION_H

#include "runtime/state/ElementType.h"

namespace cleave::rt {

// f32, f64, f16, bf16.
bool isFloating(ElementType type);
// Whether elements of one type can be stored as the other's: equal types, or both floating.
bool isConvertible(ElementType from, ElementType to);
// `count` elements; of equal types a copy.
void convertElements(ElementType from, const std::byte *source, ElementType to, std::byte *target, size_t count);

} // namespace cleave::rt

#endif
