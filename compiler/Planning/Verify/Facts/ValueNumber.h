// The value number of an expression (Content.h), as in global value numbering: expressions with one number are equal.
//
// It has 128 bits. To make up two expressions that have one number takes some 2^64 tries. With 64 bits it takes some
// 2^32 tries, which is a minute. A plan states all 128 bits.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_VALUENUMBER_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_VALUENUMBER_H

#include <cstddef>
#include <cstdint>

namespace cleave::plan {

struct ValueNumber {
  uint64_t low = 0, high = 0;

  bool operator==(const ValueNumber &other) const { return low == other.low && high == other.high; }
  bool operator!=(const ValueNumber &other) const { return !(*this == other); }
  bool operator<(const ValueNumber &other) const { return high != other.high ? high < other.high : low < other.low; }
};

struct ValueNumberHash {
  size_t operator()(const ValueNumber &number) const { return number.low; }
};

} // namespace cleave::plan

#endif
