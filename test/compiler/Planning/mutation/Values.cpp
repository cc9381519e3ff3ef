#include "test/compiler/Planning/mutation/Values.h"

#include <algorithm>

namespace cleave::mutation {

static uint64_t rotate(uint64_t value, unsigned bits) { return value << bits | value >> (64 - bits); }

// The two lanes of MurmurHash3's 128-bit form.
Hasher &Hasher::add(uint64_t number) {
  constexpr uint64_t a = 0x87c37b91114253d5, b = 0x4cf5ad432745937f;
  high_ ^= rotate(number * a, 31) * b;
  high_ = (rotate(high_, 27) + low_) * 5 + 0x52dce729;
  low_ ^= rotate(number * b, 33) * a;
  low_ = (rotate(low_, 31) + high_) * 5 + 0x38495ab5;
  return *this;
}

Hasher &Hasher::add(std::string_view text) {
  add(text.size());
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    for (size_t k = i; k < std::min(i + 8, text.size()); ++k)
      word = word << 8 | static_cast<unsigned char>(text[k]);
    add(word);
  }
  return *this;
}

static uint64_t finish(uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccd;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

Id Hasher::id() const { return {finish(high_ + low_), finish(high_ + 2 * low_) | 1}; }

Piece Piece::from(uint64_t count) const {
  uint64_t next = period ? (offset + count) % period : offset + count;
  return {value, isDefined() ? next : 0, period, length - count};
}

bool Piece::isContinuedBy(const Piece &next) const {
  return value == next.value && period == next.period && (!isDefined() || from(length).offset == next.offset);
}

void Bytes::append(const Piece &piece) {
  if (piece.length == 0)
    return;
  size_ += piece.length;
  if (!pieces_.empty() && pieces_.back().isContinuedBy(piece))
    pieces_.back().length += piece.length;
  else
    pieces_.push_back(piece);
}

void Bytes::append(const Bytes &bytes) {
  for (const Piece &piece : bytes.pieces_)
    append(piece);
}

Bytes Bytes::slice(uint64_t begin, uint64_t length) const {
  Bytes result;
  for (const Piece &piece : pieces_) {
    uint64_t skipped = std::min(begin, piece.length), taken = std::min(length, piece.length - skipped);
    result.append(piece.from(skipped).first(taken));
    begin -= skipped;
    length -= taken;
  }
  return result;
}

bool Bytes::isDefined() const {
  return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece &piece) { return piece.isDefined(); });
}

Id Bytes::id() const {
  Hasher hasher("bytes");
  for (const Piece &piece : pieces_)
    hasher.add(piece.value).add(piece.offset).add(piece.length);
  return hasher.id();
}

Bytes undefined(uint64_t length) { return Bytes(Piece{{}, 0, 0, length}); }

Bytes filled(uint64_t pattern, unsigned width, uint64_t length) {
  auto byte = [&](unsigned i) { return pattern >> 8 * (i % width) & 0xff; };
  unsigned period = 1;
  while (period < width) {
    bool repeats = true;
    for (unsigned i = 0; i < width; ++i)
      repeats &= byte(i) == byte(i % period);
    if (repeats)
      break;
    period *= 2;
  }
  Hasher hasher("fill");
  for (unsigned i = 0; i < period; ++i)
    hasher.add(byte(i));
  return Bytes(Piece{hasher.id(), 0, period, length});
}

// Combines parts of the same length, one from each operand. The result has the offsets of the first operand that does
// not repeat itself, so that equal operations on neighbouring parts continue each other.
static Piece combine(const Id &operation, const std::vector<Piece> &parts) {
  for (const Piece &part : parts)
    if (!part.isDefined())
      return {{}, 0, 0, part.length};
  auto base = std::find_if(parts.begin(), parts.end(), [](const Piece &part) { return part.period == 0; });
  bool repeats = base == parts.end();
  uint64_t origin = repeats ? 0 : base->offset, period = 1;
  Hasher hasher("elementwise");
  hasher.add(operation);
  for (const Piece &part : parts) {
    uint64_t relative =
        part.period == 0 ? part.offset - origin : (part.offset + part.period - origin % part.period) % part.period;
    hasher.add(part.value).add(relative);
    period = std::max(period, part.period);
  }
  return {hasher.id(), origin, repeats ? period : 0, parts.front().length};
}

Bytes elementwise(const Id &operation, const std::vector<Bytes> &operands) {
  Bytes result;
  uint64_t size = operands.front().size();
  std::vector<size_t> at(operands.size(), 0);         // the piece of each operand
  std::vector<uint64_t> consumed(operands.size(), 0); // bytes consumed of that piece
  for (uint64_t done = 0; done < size;) {
    uint64_t step = size - done;
    for (size_t i = 0; i < operands.size(); ++i)
      step = std::min(step, operands[i].pieces()[at[i]].length - consumed[i]);
    std::vector<Piece> parts;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Piece &piece = operands[i].pieces()[at[i]];
      parts.push_back(piece.from(consumed[i]).first(step));
      consumed[i] += step;
      if (consumed[i] == piece.length) {
        ++at[i];
        consumed[i] = 0;
      }
    }
    result.append(combine(operation, parts));
    done += step;
  }
  return result;
}

Memory::Memory(uint64_t bytes) : bytes_(bytes) {
  if (bytes != 0)
    pieces_[0] = {{}, 0, 0, bytes};
}

Bytes Memory::read(uint64_t begin, uint64_t length) const {
  Bytes result;
  if (length == 0)
    return result;
  auto at = std::prev(pieces_.upper_bound(begin));
  for (uint64_t end = begin + length; begin < end; ++at) {
    Piece piece = at->second.from(begin - at->first);
    piece.length = std::min(piece.length, end - begin);
    begin += piece.length;
    result.append(piece);
  }
  return result;
}

void Memory::split(uint64_t at) {
  if (at == bytes_)
    return;
  auto found = std::prev(pieces_.upper_bound(at));
  if (found->first == at)
    return;
  uint64_t count = at - found->first;
  Piece rest = found->second.from(count);
  found->second.length = count;
  pieces_[at] = rest;
}

void Memory::write(uint64_t begin, const Bytes &bytes) {
  if (bytes.size() == 0)
    return;
  split(begin);
  split(begin + bytes.size());
  pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(begin + bytes.size()));
  for (const Piece &piece : bytes.pieces()) {
    pieces_[begin] = piece;
    begin += piece.length;
  }
}

} // namespace cleave::mutation
