// Converts arrays of 16-bit floating-point numbers to f32 and back, several numbers at a time if the processor can.
//
// All versions compute the same bits as the single conversions of Half.h: round to nearest, ties to even. NaN stays
// NaN, but a signalling NaN may become quiet when it is widened.
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
