// Arrays of 16-bit floating-point numbers to f32 and back, at the processor's speed: many at a time, where it can.
//
// Every version gives the bits of Half.h's single conversions: round to nearest, ties to even. NaN stays NaN; a
// signalling one may become quiet when it is widened.
#ifndef CLEAVE_RUNTIME_BASE_HALFARRAYS_H
#define CLEAVE_RUNTIME_BASE_HALFARRAYS_H

#include "runtime/base/Half.h"

#include <cstddef>

namespace cleave::rt {

void widen(const BFloat16 *source, float *target, size_t count);
void widen(const Float16 *source, float *target, size_t count);
void narrow(const float *source, BFloat16 *target, size_t count);
void narrow(const float *source, Float16 *target, size_t count);

} // namespace cleave::rt

#endif
