#include "compiler/Planning/Verify/Facts/Content.h"

#include <algorithm>
#include <utility>

namespace cleave::plan {

static inline uint64_t rotated(uint64_t word, int by) { return word << by | word >> (64 - by); }

// SipHash's round.
static inline void mix(uint64_t (&v)[4]) {
  v[0] += v[1], v[2] += v[3];
  v[1] = rotated(v[1], 13) ^ v[0], v[3] = rotated(v[3], 16) ^ v[2];
  v[0] = rotated(v[0], 32);
  v[2] += v[1], v[0] += v[3];
  v[1] = rotated(v[1], 17) ^ v[2], v[3] = rotated(v[3], 21) ^ v[0];
  v[2] = rotated(v[2], 32);
}

// SipHash-2-4.
Expression &Expression::word(uint64_t word) {
  state_[3] ^= word;
  mix(state_);
  mix(state_);
  state_[0] ^= word;
  return *this;
}

// With a result of 128 bits, as SipHash's authors define it.
ValueNumber Expression::number() const {
  uint64_t v[4] = {state_[0], state_[1], state_[2] ^ 0xee, state_[3]};
  auto half = [&] {
    for (int round = 0; round < 4; ++round)
      mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  };
  ValueNumber number;
  number.low = half();
  v[1] ^= 0xdd;
  number.high = half();
  return number;
}

Expression &Expression::add(std::string_view text) {
  mark(Part::Text).word(text.size());
  uint64_t packed = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    packed = packed << 8 | static_cast<uint8_t>(text[i]);
    if (i % 8 == 7)
      word(std::exchange(packed, 0));
  }
  return word(packed);
}

// Returns the offset of a piece after `bytes` more of its value.
static uint64_t advance(const Piece &piece, uint64_t bytes) {
  return piece.period ? (piece.offset + bytes) % piece.period : piece.offset + bytes;
}

Content Content::of(const ValueNumber &expression, uint64_t bytes, AxisMask varies) {
  Content content;
  content.append({bytes, expression, 0, 0, varies});
  return content;
}

// For example, a fill with 0x3f803f80 of 4 bytes is the same expression as one with 0x3f80 of 2 bytes.
Content Content::repeated(uint64_t pattern, uint64_t width, uint64_t bytes) {
  if (width < 8)
    pattern &= (uint64_t{1} << 8 * width) - 1;
  for (uint64_t half = width / 2; half > 0; half /= 2) { // the shortest pattern that repeats to this one
    uint64_t low = pattern & ((uint64_t{1} << 8 * half) - 1);
    if (pattern != (low | low << 8 * half))
      break;
    pattern = low;
    width = half;
  }
  Content content;
  content.append({bytes, Expression("fill").add(pattern).add(width).number(), 0, width, 0});
  return content;
}

void Content::append(Piece piece) {
  if (piece.bytes == 0)
    return;
  uint64_t end = bytes() + piece.bytes;
  if (!pieces_.empty()) {
    Piece &last = pieces_.back();
    bool isNothing = last.expression == kNoValue && piece.expression == kNoValue;
    if (isNothing || (last.expression == piece.expression && last.period == piece.period &&
                      advance(last, last.bytes) == piece.offset)) {
      last.bytes += piece.bytes;
      last.varies |= piece.varies;
      ends_.back() = end;
      return;
    }
  }
  pieces_.push_back(piece);
  ends_.push_back(end);
}

void Content::append(const Content &more) {
  for (const Piece &piece : more.pieces_)
    append(piece);
}

size_t Content::pieceAt(uint64_t byte) const {
  return std::upper_bound(ends_.begin(), ends_.end(), byte) - ends_.begin();
}

Content Content::slice(uint64_t begin, uint64_t bytes) const {
  Content result;
  uint64_t end = std::min(begin + bytes, this->bytes());
  for (size_t i = pieceAt(begin); i < pieces_.size() && begin < end; ++i) {
    Piece piece = pieces_[i];
    uint64_t skipped = begin - (ends_[i] - piece.bytes);
    piece.offset = advance(piece, skipped);
    piece.bytes = std::min(ends_[i], end) - begin;
    begin += piece.bytes;
    result.append(piece);
  }
  return result;
}

// The period is not added, because the expression determines it. `varies` is not added, because it does not say which
// value it is.
ValueNumber Content::number() const {
  Expression expression("content");
  for (const Piece &piece : pieces_)
    expression.add(piece.bytes).add(piece.expression).add(piece.offset);
  return expression.number();
}

AxisMask Content::varies() const {
  AxisMask varies = 0;
  for (const Piece &piece : pieces_)
    varies |= piece.varies;
  return varies;
}

// Between `begin` and `end`, no rank's part crosses from one piece into another. Ranks whose parts lie in one piece
// form one run. Offsets are relative to that of the first run, so that a part of a share is the same part of the whole
// share.
// For example, a has 64 bytes, and two ranks share it with a stride of 32. The bytes [0, 32) of the share are the
// expression "a at 0 on 2 ranks", from offset 0. The bytes [8, 32) of the share are the same expression, from offset 8.
Piece Content::shareOfPieces(uint64_t begin, uint64_t end, const ValueNumber &group, AxisMask axes, uint64_t ranks,
                             uint64_t stride) const {
  struct Run {
    Piece piece;
    uint64_t offset, count;
  };
  std::vector<Run> runs;
  for (uint64_t rank = 0; rank < ranks;) {
    uint64_t at = begin + rank * stride;
    size_t i = pieceAt(at);
    uint64_t left = ends_[i] - at;
    uint64_t count = std::min(ranks - rank, (left + stride - 1) / stride);
    runs.push_back({pieces_[i], advance(pieces_[i], at - (ends_[i] - pieces_[i].bytes)), count});
    rank += count;
  }
  const Piece &first = runs.front().piece;
  if (runs.size() == 1 && first.period != 0 && stride % first.period == 0) // all parts of a fill are alike
    return {end - begin, first.expression, runs.front().offset, first.period, first.varies};
  // A fill cannot be the origin, because its offset counts only modulo its period.
  auto base = std::find_if(runs.begin(), runs.end(), [](const Run &run) { return run.piece.period == 0; });
  uint64_t origin = base == runs.end() ? 0 : base->offset;
  Expression expression("share");
  expression.add(group).add(ranks).add(stride);
  AxisMask varies = axes;
  uint64_t period = 0; // of runs that are all fills
  for (const Run &run : runs) {
    period = std::max(period, run.piece.period);
    uint64_t offset = run.offset - origin;
    if (run.piece.period != 0)
      offset = (run.offset + run.piece.period - origin % run.piece.period) % run.piece.period;
    expression.add(run.piece.expression).add(offset).add(run.count);
    varies |= run.piece.varies;
  }
  return {end - begin, expression.number(), origin, base == runs.end() ? period : 0, varies};
}

Content Content::shareOf(const ValueNumber &group, AxisMask axes, uint64_t ranks, uint64_t stride) const {
  Content result;
  if (ranks == 0 || stride == 0 || (ranks - 1) * stride > bytes())
    return result;
  uint64_t part = bytes() - (ranks - 1) * stride;
  // A part is cut where some rank passes from one piece to the next. For example, 3 ranks share 40 bytes of a and 56 of
  // b with a stride of 32. The second rank passes from a to b after 8 bytes. So the bytes [0, 8) are those of a on two
  // ranks and of b on the third, and the bytes [8, 32) are those of a on one rank and of b on two.
  std::vector<uint64_t> cuts{part};
  for (uint64_t end : ends_)
    for (uint64_t rank = end > part ? (end - part) / stride : 0; rank < ranks && rank * stride < end; ++rank)
      if (uint64_t cut = end - rank * stride; cut < part)
        cuts.push_back(cut);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  uint64_t begin = 0;
  for (uint64_t end : cuts) {
    result.append(shareOfPieces(begin, end, group, axes, ranks, stride));
    begin = end;
  }
  return result;
}

} // namespace cleave::plan
