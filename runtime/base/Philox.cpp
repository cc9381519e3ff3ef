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

// The logarithm of x in (0, 1). With x = m * 2^e and m in [sqrt(1/2), sqrt(2)), log(m) is the odd series of (m - 1) /
// (m + 1). The square of that ratio is at most 0.0295. After twelve terms, the rest is less than 1e-17 of the first
// term.
static double logarithm(double x) {
  constexpr double kTerms[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                               1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  int exponent = 0;
  double m = std::frexp(x, &exponent); // exact
  bool isLow = m < 0.70710678118654752;
  m = isLow ? m * 2 : m;
  double ratio = (m - 1) / (m + 1), square = ratio * ratio, sum = 0;
  for (double term : kTerms)
    sum = sum * square + term;
  return 2 * ratio * sum + (exponent - isLow) * 0.69314718055994531;
}

// The cosine and sine of (word + 1/2) / 2^32 turns. The two highest bits are the quadrant. The others are an angle of
// at most pi/4 from the middle of the quadrant. For it, the Taylor series are cut off below 1e-16.
static std::array<double, 2> cosineAndSine(uint32_t word) {
  double t = ((word & 0x3fffffff) + 0.5) * 0x1p-30 - 0.5; // the angle from the quadrant's middle, in quadrants
  t *= 1.5707963267948966;
  // Each term of a series divided by the term before it, without the square of the angle and the sign.
  constexpr double kCosine[] = {1.0 / 240, 1.0 / 182, 1.0 / 132, 1.0 / 90, 1.0 / 56, 1.0 / 30, 1.0 / 12, 1.0 / 2};
  constexpr double kSine[] = {1.0 / 272, 1.0 / 210, 1.0 / 156, 1.0 / 110, 1.0 / 72, 1.0 / 42, 1.0 / 20, 1.0 / 6};
  double square = t * t, cosine = 1, sine = 1;
  for (int i = 0; i < 8; ++i) {
    cosine = 1 - cosine * (square * kCosine[i]);
    sine = 1 - sine * (square * kSine[i]);
  }
  sine *= t;
  constexpr double kHalf = 0.70710678118654752; // the quadrant's middle is 45 degrees from its ends
  double x = kHalf * (cosine - sine), y = kHalf * (cosine + sine);
  switch (word >> 30) {
  case 0:
    return {x, y};
  case 1:
    return {-y, x};
  case 2:
    return {-x, -y};
  default:
    return {y, -x};
  }
}

std::array<double, 2> philoxNormal(uint32_t a, uint32_t b) {
  double radius = std::sqrt(-2.0 * logarithm((a + 0.5) * 0x1p-32)); // + 0.5, so that it is never log(0)
  auto [cosine, sine] = cosineAndSine(b);
  return {radius * cosine, radius * sine};
}

} // namespace cleave::rt
