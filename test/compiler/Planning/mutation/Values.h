// Symbolic contents of memory, to the byte.
//
// A *value* is a name for an unknown byte string: "segment fc.weight at the start", "the result of kernel 7 on these
// operands", "the sum of these ranks' bytes". Names are 128-bit hashes of what the value was computed from, so that two
// runs that compute the same have the same name, without a table of terms. Memory holds *pieces* of values: bytes
// [offset, offset + length) of value v. Copies and views move pieces; a kernel makes new values of the pieces it reads.
//
//   copy t <- w[0, 64)             t: w[0, 64)
//   launch k(t[0, 32)) -> u        u: k(w[0, 32))[0, ...)
//
// Pieces that continue each other are joined, so that what was cut and laid together again is equal to what it was.
#ifndef CLEAVE_TEST_PLANNING_MUTATION_VALUES_H
#define CLEAVE_TEST_PLANNING_MUTATION_VALUES_H

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace cleave::mutation {

struct Id {
  uint64_t high = 0, low = 0;
  bool operator==(const Id &other) const { return high == other.high && low == other.low; }
  bool operator!=(const Id &other) const { return !(*this == other); }
  bool operator<(const Id &other) const { return high != other.high ? high < other.high : low < other.low; }
};

class Hasher {
public:
  explicit Hasher(std::string_view tag) { add(tag); }
  Hasher &add(uint64_t number);
  Hasher &add(std::string_view text);
  Hasher &add(const Id &id) { return add(id.high).add(id.low); }
  Id id() const;

private:
  uint64_t high_ = 0x243f6a8885a308d3, low_ = 0x13198a2e03707344;
};

// Bytes [offset, offset + length) of a value. A value with a period repeats itself, and its offsets are taken modulo
// the period. The value with the empty name is *undefined*: nobody wrote it, or what lies there means nothing.
struct Piece {
  Id value;
  uint64_t offset = 0, period = 0, length = 0;
  bool isDefined() const { return value != Id(); }
  // The piece without its first `count` bytes.
  Piece from(uint64_t count) const;
  Piece first(uint64_t count) const { return {value, offset, period, count}; }
  bool isContinuedBy(const Piece &next) const;
};

class Bytes {
public:
  Bytes() = default;
  explicit Bytes(const Piece &piece) { append(piece); }

  void append(const Piece &piece);
  void append(const Bytes &bytes);
  Bytes slice(uint64_t begin, uint64_t length) const;
  uint64_t size() const { return size_; }
  bool isDefined() const;
  Id id() const;
  const std::vector<Piece> &pieces() const { return pieces_; }

private:
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

Bytes undefined(uint64_t length);
// `length` bytes of the lowest `width` bytes of `pattern`, repeated.
Bytes filled(uint64_t pattern, unsigned width, uint64_t length);
// Elements made of the elements at the same places of the operands, in this order: what a reduction makes of a chunk.
// Equal operands give equal bytes however the chunk is cut. Undefined where an operand is.
Bytes elementwise(const Id &operation, const std::vector<Bytes> &operands);

// One frame of one region of one rank.
class Memory {
public:
  explicit Memory(uint64_t bytes);
  // Both must lie inside.
  Bytes read(uint64_t begin, uint64_t length) const;
  void write(uint64_t begin, const Bytes &bytes);

private:
  void split(uint64_t at);
  std::map<uint64_t, Piece> pieces_; // by first byte; they cover all
  uint64_t bytes_;
};

} // namespace cleave::mutation

#endif
