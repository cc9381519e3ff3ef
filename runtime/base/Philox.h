// Philox 4x32-10 (Salmon et al., SC 2011), a counter-based generator of random numbers. The value depends only on key
// and counter, and not on which rank computes it, or in which order. So initial weights and dropout masks do not depend
// on the layout.
//
//   Philox4 r = philox4x32(key, counter);      // 128 random bits
//
// Generated kernels contain the same ten rounds. Tests compare them with this function.
#ifndef CLEAVE_RUNTIME_BASE_PHILOX_H
#define CLEAVE_RUNTIME_BASE_PHILOX_H

#include <array>
#include <cstdint>

namespace cleave::rt {

using Philox4 = std::array<uint32_t, 4>;
using Philox2 = std::array<uint32_t, 2>;

Philox4 philox4x32(Philox2 key, Philox4 counter);

// Uniform in [0, 1) with 24 bits, so every value is exact in f32.
inline float philoxUniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// Two independent standard normal values from two words (Box and Muller). It uses only additions, products, quotients
// and one square root. IEEE 754 defines the rounding of these, so all machines and C libraries compute the same bits,
// and replicas that different machines draw are equal.
std::array<double, 2> philoxNormal(uint32_t a, uint32_t b);

} // namespace cleave::rt

#endif
