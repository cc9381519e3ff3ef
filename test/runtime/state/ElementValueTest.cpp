#include "runtime/state/ElementValue.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace cleave::rt;

namespace {

uint16_t halfBits(ElementType type, double value) {
  uint16_t bits;
  storeElement(type, value, reinterpret_cast<std::byte *>(&bits));
  return bits;
}

TEST(ElementValue, HalfRoundsToNearestEven) {
  EXPECT_EQ(halfBits(ElementType::f16, 1.0), 0x3c00);
  EXPECT_EQ(halfBits(ElementType::f16, -2.0), 0xc000);
  EXPECT_EQ(halfBits(ElementType::f16, 1.0 + 0x1p-11), 0x3c00);     // a tie, to even
  EXPECT_EQ(halfBits(ElementType::f16, 1.0 + 3 * 0x1p-11), 0x3c02); // a tie, to even
  EXPECT_EQ(halfBits(ElementType::f16, 2.0 - 0x1p-12), 0x4000);     // carries into the exponent
  EXPECT_EQ(halfBits(ElementType::f16, 65504), 0x7bff);
  EXPECT_EQ(halfBits(ElementType::f16, 65520), 0x7c00);             // rounds to infinity
  EXPECT_EQ(halfBits(ElementType::f16, 0x1p-24), 0x0001);           // the smallest subnormal
  EXPECT_EQ(halfBits(ElementType::f16, 0x1p-14 - 0x1p-26), 0x0400); // subnormal rounds up to normal
  EXPECT_EQ(halfBits(ElementType::f16, -0.0), 0x8000);
  EXPECT_EQ(halfBits(ElementType::bf16, 1.0), 0x3f80);
  EXPECT_EQ(halfBits(ElementType::bf16, INFINITY), 0x7f80);
}

TEST(ElementValue, EveryHalfSurvivesARoundTrip) {
  for (ElementType type : {ElementType::f16, ElementType::bf16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto half = static_cast<uint16_t>(bits);
      double value = loadElement(type, reinterpret_cast<std::byte *>(&half));
      if (std::isnan(value))
        continue;
      ASSERT_EQ(halfBits(type, value), half);
    }
}

TEST(ElementValue, SeedsKeepAllBits) {
  int64_t seed = (int64_t(1) << 62) + 1, stored = 0;
  storeInteger(ElementType::i64, seed, reinterpret_cast<std::byte *>(&stored));
  EXPECT_EQ(stored, seed);
}

} // namespace
