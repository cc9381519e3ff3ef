// Where along one dimension a value repeats itself.
//
// A broadcast over a batch of B, merged with H rows, is a dimension of B * H in which the same H rows stand B times. Its
// elements do not depend on the slower digit of their index: that digit lies between the strides H and B * H. Where the
// batch is the faster one ([T, B] merged) the digit without influence lies between the strides 1 and B.
//
// A digit without influence may have any size: a rank's part of more repetitions is what the rank has. So a dimension may
// be called cut wherever the cut lies at such a digit.
#ifndef CLEAVE_COMPILER_SHARDING_REPEATS_H
#define CLEAVE_COMPILER_SHARDING_REPEATS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace cleave {

// An element at index i depends on i % inner and i / outer alone. Where both are one stride the rank has one repetition,
// of which the whole may have more. `inner` divides `outer`.
struct Repeat {
  int64_t inner, outer;

  bool isOne() const { return inner == outer; }
  bool operator==(const Repeat &other) const { return inner == other.inner && outer == other.outer; }
};

// Of one dimension; none where nothing is known to repeat.
using Repeats = llvm::SmallVector<Repeat, 0>;

// What is left of it between two strides, in units of the first; none where its digits are not theirs.
std::optional<Repeat> repeatWithin(const Repeat &repeat, int64_t begin, int64_t end);
// What repeats itself in both.
Repeats commonRepeats(llvm::ArrayRef<Repeat> left, llvm::ArrayRef<Repeat> right);
// The same in as few entries as there can be: digits side by side are one.
Repeats joinedRepeats(Repeats repeats);
// The same, where one element of before is `stride` elements now.
Repeats scaledRepeats(llvm::ArrayRef<Repeat> repeats, int64_t stride);
// May `size` elements be called a part of `blocks` blocks of a longer dimension?
bool repeatsAtCut(llvm::ArrayRef<Repeat> repeats, int64_t size, int64_t blocks);

} // namespace cleave

#endif
