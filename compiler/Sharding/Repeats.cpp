#include "compiler/Sharding/Repeats.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace cleave;

static bool divides(int64_t a, int64_t b) { return a > 0 && b % a == 0; }

// Returns the digits between both pairs of strides. If neither of two strides divides the other, they are not digits of
// one index.
static std::optional<Repeat> overlap(const Repeat &a, const Repeat &b) {
  if ((!divides(a.inner, b.inner) && !divides(b.inner, a.inner)) ||
      (!divides(a.outer, b.outer) && !divides(b.outer, a.outer)))
    return std::nullopt;
  Repeat both = {std::max(a.inner, b.inner), std::min(a.outer, b.outer)};
  return divides(both.inner, both.outer) ? std::optional(both) : std::nullopt;
}

std::optional<Repeat> cleave::repeatWithin(const Repeat &repeat, int64_t begin, int64_t end) {
  if (begin <= 0 || end <= 0)
    return std::nullopt; // no elements
  auto both = overlap(repeat, {begin, end});
  return both ? std::optional(Repeat{both->inner / begin, both->outer / begin}) : std::nullopt;
}

Repeats cleave::commonRepeats(llvm::ArrayRef<Repeat> left, llvm::ArrayRef<Repeat> right) {
  Repeats both;
  for (const Repeat &a : left)
    for (const Repeat &b : right)
      if (auto here = overlap(a, b))
        both.push_back(*here);
  return joinedRepeats(std::move(both));
}

Repeats cleave::joinedRepeats(Repeats repeats) {
  llvm::sort(repeats, [](const Repeat &a, const Repeat &b) {
    return std::pair(a.inner, a.outer) < std::pair(b.inner, b.outer);
  });
  Repeats joined;
  for (const Repeat &next : repeats)
    if (!joined.empty() && joined.back().outer == next.inner)
      joined.back().outer = next.outer;
    else if (joined.empty() || !(joined.back() == next))
      joined.push_back(next);
  return joined;
}

Repeats cleave::scaledRepeats(llvm::ArrayRef<Repeat> repeats, int64_t stride) {
  Repeats scaled;
  for (const Repeat &repeat : repeats)
    scaled.push_back({repeat.inner * stride, repeat.outer * stride});
  return scaled;
}

bool cleave::repeatsAtCut(llvm::ArrayRef<Repeat> repeats, int64_t size, int64_t blocks) {
  if (!divides(blocks, size))
    return false;
  int64_t inside = size / blocks; // the stride of the cut
  return llvm::any_of(repeats, [&](const Repeat &repeat) {
    return divides(repeat.inner, inside) && divides(inside, repeat.outer);
  });
}
