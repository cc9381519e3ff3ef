// What bytes are: the expressions by which they were computed, as value numbers.
//
// An expression is what computes a value: an input, a state as a program finds it, a kernel on the values of its
// operands, a collective on what its ranks give. Its number is a hash over all of that, so that equal numbers are equal
// values on ranks that agree in the values of inputs and states. Content is a sequence of pieces, each a range of the
// bytes of one expression's value, in a normal form: neighbours that continue each other are one piece. So content does
// not depend on how bytes were moved about, cut and joined.
//
//   bucket = [ 64 bytes of k1(x), 32 bytes of k2(x) from byte 0 ]     number(): one number for all of it
//   bucket.slice(32, 48) = [ k1(x) from byte 32: 32 bytes, k2(x) from byte 0: 16 bytes ]
//
// Who computes numbers: ValueMeaning.h, from values before they are planned, and PlanMeaning.h, from what the planned
// instructions do to bytes. They share the numbers, and nothing else.
//
// Rejected: a table of expressions instead of hashes. It would have to be stored with each plan to be compared.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_CONTENT_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_CONTENT_H

#include "compiler/Planning/Verify/ValueNumber.h"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cleave::plan {

using AxisMask = uint64_t; // bit a: axis a of the mesh

// The number of an expression that is made of these parts, in order.
class Expression {
public:
  explicit Expression(std::string_view what) { add(what); }
  Expression &add(uint64_t number);
  Expression &add(const ValueNumber &number) { return add(number.low).add(number.high); }
  Expression &add(std::string_view text);
  Expression &add(const char *text) { return add(std::string_view(text)); }
  template <typename List> Expression &addAll(const List &list) {
    for (const auto &entry : list)
      if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, ValueNumber>)
        add(entry);
      else
        add(static_cast<uint64_t>(entry));
    return add(uint64_t{list.size()});
  }
  ValueNumber number() const;

private:
  // Of SipHash, without a secret: what is added goes through all 256 bits, of which a number shows 128. So nobody can
  // compute backwards which part gives a number that he wants, as he could from a state that the number is.
  uint64_t state_[4] = {0x736f6d6570736575ull, 0x646f72616e646f6dull, 0x6c7967656e657261ull, 0x7465646279746573ull};
};

// Bytes [offset, offset + bytes) of an expression's value.
struct Piece {
  uint64_t bytes = 0;
  ValueNumber expression;
  uint64_t offset = 0;
  uint64_t period = 0; // the value repeats itself after so many bytes, without an end (a fill); 0: it does not
  AxisMask varies = 0; // the axes along which ranks may have different values of it
};

// Of bytes that have no value: nothing has written them, or what was there is lost.
inline constexpr ValueNumber kNoValue{};

class Content {
public:
  Content() = default;
  // All bytes of a value.
  static Content of(const ValueNumber &expression, uint64_t bytes, AxisMask varies = 0);
  // The lowest `width` bytes of a pattern, over and over. How wide it was said to be does not matter.
  static Content repeated(uint64_t pattern, uint64_t width, uint64_t bytes);

  void append(Piece piece);
  void append(const Content &more);
  Content slice(uint64_t begin, uint64_t bytes) const;
  // What the rank with index i of a group has that takes its part of this: bytes [i * stride, i * stride + part), where
  // `part` is what is left for the last of `ranks`. `group` is the group's number, `axes` what it lies along.
  Content shareOf(const ValueNumber &group, AxisMask axes, uint64_t ranks, uint64_t stride) const;

  uint64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  ValueNumber number() const;
  AxisMask varies() const;
  const std::vector<Piece> &pieces() const & { return pieces_; }
  const std::vector<Piece> &pieces() const && = delete; // a loop over a temporary's pieces would read freed memory

private:
  size_t pieceAt(uint64_t byte) const;
  Piece shareOfPieces(uint64_t begin, uint64_t end, const ValueNumber &group, AxisMask axes, uint64_t ranks,
                      uint64_t stride) const;

  std::vector<Piece> pieces_;
  std::vector<uint64_t> ends_; // of each piece, from the content's start
};

} // namespace cleave::plan

#endif
