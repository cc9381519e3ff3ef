// Philox 4x32-10 (Salmon et al., SC 2011): a counter-based generator. The value at a counter depends on key and
// counter only, never on who computes it or in which order; that is what makes initial weights and dropout masks
// independent of the layout.
//
//   Philox4 r = philox4x32(key, counter);      // 128 random bits
//
// Generated kernels carry the same ten rounds; this is the reference they are tested against.
#ifndef CLEAVE_RUNTIME_BASE_PHILOX_H
#define CLEAVE_RUNTIME_BASE_PHILOX_H

#include <array>
#include <cstdint>

namespace cleave::rt {

using Philox4 = std::array<uint32_t, 4>;
using Philox2 = std::array<uint32_t, 2>;

Philox4 philox4x32(Philox2 key, Philox4 counter);

// Uniform in [0, 1) with 24 bits: every value is exact in f32.
inline float philoxUniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Two independent standard normal values (Box and Muller) from two words. Made of additions, products, quotients and
// one square root alone, which IEEE 754 rounds in one way: machines and C libraries agree in every bit, so replicas that
// different machines draw are equal.
std::array<double, 2> philoxNormal(uint32_t a, uint32_t b);

} // namespace cleave::rt

#endif
