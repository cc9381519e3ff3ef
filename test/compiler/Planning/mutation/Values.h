// Symbolic contents of memory, exact to the byte.
//
// A *value* is a name for an unknown byte string: "segment fc.weight at the start", "the result of kernel 7 on these
// operands", "the sum of these ranks' bytes". Names are 128-bit hashes of the expression that computes the value. So
// two runs that compute the same use the same name, without a table of expressions. Memory has *pieces* of values:
// bytes [offset, offset + length) of value v. Copies and views move pieces. A kernel makes new values from the pieces
// that it reads.
//
//   copy t <- w[0, 64)             t: w[0, 64)
//   launch k(t[0, 32)) -> u        u: k(w[0, 32))[0, ...)
//
// Adjacent pieces that continue each other are joined, so that a value that was split and put together is equal to
// itself.
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

// Bytes [offset, offset + length) of a value. A value with a period repeats itself, and its offsets are modulo the
// period. The value with the empty name is *undefined*: nothing wrote it, or the bytes have no meaning.
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
// Each element is computed from the elements at the same index of the operands, in this order, as in the reduction of a
// chunk. Equal operands give equal bytes, however the chunk is split. The result is undefined if an operand is.
Bytes elementwise(const Id &operation, const std::vector<Bytes> &operands);

// One frame of one region of one rank.
class Memory {
public:
  explicit Memory(uint64_t bytes);
  // The range must be inside of the memory, for both functions.
  Bytes read(uint64_t begin, uint64_t length) const;
  void write(uint64_t begin, const Bytes &bytes);

private:
  void split(uint64_t at);
  std::map<uint64_t, Piece> pieces_; // by first byte; together they cover all bytes
  uint64_t bytes_;
};

} // namespace cleave::mutation

#endif
