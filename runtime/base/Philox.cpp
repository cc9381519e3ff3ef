#include "runtime/base/Philox.h"

#include <cmath>

namespace cleave::rt {

static Philox4 philoxRound(Philox4 c, Philox2 k) {
  uint64_t first = uint64_t{0xD2511F53} * c[0];
  uint64_t second = uint64_t{0xCD9E8D57} * c[2];
  return {static_cast<uint32_t>(second >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(second),
          static_cast<uint32_t>(first >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(first)};
}

Philox4 philox4x32(Philox2 key, Philox4 counter) {
  for (int round = 0; round < 10; ++round) {
    counter = philoxRound(counter, key);
    key[0] += 0x9E3779B9; // the golden ratio
    key[1] += 0xBB67AE85; // sqrt(3) - 1
  }
  return counter;
}

std::array<double, 2> philoxNormal(uint32_t a, uint32_t b) {
  double radius = std::sqrt(-2.0 * std::log((a + 0.5) * 0x1p-32)); // + 0.5: never log(0)
  double angle = 2.0 * 3.14159265358979323846 * (b + 0.5) * 0x1p-32;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

} // namespace cleave::rt
