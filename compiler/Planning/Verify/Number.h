// The number of an expression (Content.h).
//
// It has 128 bits: of two expressions that somebody makes up until they have one number there are some 2^64, and of 64 bits some 2^32, which
// takes a minute. A plan states all of them.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_NUMBER_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_NUMBER_H

#include <cstddef>
#include <cstdint>

namespace cleave::plan {

struct Number {
  uint64_t low = 0, high = 0;

  bool operator==(const Number &other) const { return low == other.low && high == other.high; }
  bool operator!=(const Number &other) const { return !(*this == other); }
  bool operator<(const Number &other) const { return high != other.high ? high < other.high : low < other.low; }
};

struct NumberHash {
  size_t operator()(const Number &number) const { return number.low; }
};

} // namespace cleave::plan

#endif
