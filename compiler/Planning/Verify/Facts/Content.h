// Describes bytes by the expressions from which they were computed, as value numbers.
//
// An expression describes how a value is computed: it is an input, a state as a program finds it, a kernel on the
// values of its operands, or a collective on the contributions of its ranks. Its number is a hash over all of that. So
// equal numbers are equal values on ranks that agree in the values of inputs and states. Content is a sequence of
// pieces, each of which is a range of the bytes of one expression's value. It has a normal form: neighbours that
// continue each other are one piece. So content does not depend on how bytes were moved, cut and joined.
//
//   bucket = [ 64 bytes of k1(x), 32 bytes of k2(x) from byte 0 ]     number(): one number for all of it
//   bucket.slice(32, 48) = [ k1(x) from byte 32: 32 bytes, k2(x) from byte 0: 16 bytes ]
//
// Two sides compute numbers: ValueMeaning.h from values before they are planned, and PlanMeaning.h from what the
// planned instructions do to bytes. They share the numbers, and nothing else.
//
// Rejected: a table of expressions instead of hashes. Each plan would have to store it, to be compared.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_CONTENT_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_FACTS_CONTENT_H

#include "compiler/Planning/Verify/Facts/ValueNumber.h"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cleave::plan {

using AxisMask = uint64_t; // bit a: axis a of the mesh

// Computes the number of an expression that is made of these parts, in order.
//
// Expressions of other parts have other words: a mark before each part says what follows, and texts and lists begin with
// their length. So two expressions have one number only if their parts are equal, or by chance.
class Expression {
public:
  explicit Expression(std::string_view what) { add(what); }
  Expression &add(uint64_t number) { return mark(Part::Number).word(number); }
  Expression &add(const ValueNumber &number) { return mark(Part::Value).word(number.low).word(number.high); }
  Expression &add(std::string_view text);
  Expression &add(const char *text) { return add(std::string_view(text)); }
  template <typename List> Expression &addAll(const List &list) {
    mark(Part::List).word(list.size());
    for (const auto &entry : list)
      if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, ValueNumber>)
        add(entry);
      else
        add(static_cast<uint64_t>(entry));
    return *this;
  }
  ValueNumber number() const;

private:
  enum class Part : uint64_t { Number = 1, Value, Text, List };
  Expression &mark(Part part) { return word(static_cast<uint64_t>(part)); }
  Expression &word(uint64_t word);

  // The state of SipHash, without a secret. Every part goes through all 256 bits, of which a number shows 128. So
  // nobody can compute a part that gives a wanted number, as would be possible if the number were the whole state.
  uint64_t state_[4] = {0x736f6d6570736575ull, 0x646f72616e646f6dull, 0x6c7967656e657261ull, 0x7465646279746573ull};
};

// Bytes [offset, offset + bytes) of an expression's value.
struct Piece {
  uint64_t bytes = 0;
  ValueNumber expression;
  uint64_t offset = 0;
  uint64_t period = 0; // the value repeats after this many bytes, without an end (a fill); 0: it does not
  AxisMask varies = 0; // the axes along which ranks may have different values of it
};

// The number of bytes that have no value: nothing has written them, or their content is lost.
inline constexpr ValueNumber kNoValue{};

class Content {
public:
  Content() = default;
  // All bytes of a value.
  static Content of(const ValueNumber &expression, uint64_t bytes, AxisMask varies = 0);
  // The lowest `width` bytes of a pattern, repeated. It does not matter how wide the pattern was said to be.
  static Content repeated(uint64_t pattern, uint64_t width, uint64_t bytes);

  void append(Piece piece);
  void append(const Content &more);
  Content slice(uint64_t begin, uint64_t bytes) const;
  // Returns the part that the rank with index i of a group takes of this: bytes [i * stride, i * stride + part). `part`
  // is the number of bytes that remain for the last of `ranks`. `group` is the group's number, and `axes` are its axes.
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
