// Where a value repeats itself along one dimension.
//
// A broadcast over a batch of B, merged with H rows, is a dimension of B * H in which the same H rows occur B times.
// Its elements do not depend on the slower digit of their index. That digit is between the strides H and B * H. If the
// batch is the faster digit ([T, B] merged), the digit without influence is between the strides 1 and B.
//
// A digit without influence may have any size: a rank's part of more repetitions has the same elements. So a dimension
// may be regarded as cut wherever the cut is at such a digit.
#ifndef CLEAVE_COMPILER_SHARDING_REPEATS_H
#define CLEAVE_COMPILER_SHARDING_REPEATS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace cleave {

// An element at index i depends only on i % inner and i / outer. If both strides are equal, the rank has one
// repetition, and the whole may have more. `inner` divides `outer`.
struct Repeat {
  int64_t inner, outer;

  bool isOne() const { return inner == outer; }
  bool operator==(const Repeat &other) const { return inner == other.inner && outer == other.outer; }
};

// The repeats of one dimension. Empty if nothing is known to repeat.
using Repeats = llvm::SmallVector<Repeat, 0>;

// Returns the part of the repeat between two strides, in units of the first stride; none if these strides do not bound
// digits of the index.
std::optional<Repeat> repeatWithin(const Repeat &repeat, int64_t begin, int64_t end);
// Returns the repeats that both have.
Repeats commonRepeats(llvm::ArrayRef<Repeat> left, llvm::ArrayRef<Repeat> right);
// Returns the same repeats in as few entries as possible: adjacent digits become one.
Repeats joinedRepeats(Repeats repeats);
// Returns the same repeats after every element has become `stride` elements.
Repeats scaledRepeats(llvm::ArrayRef<Repeat> repeats, int64_t stride);
// True if `size` elements may be regarded as a part of `blocks` blocks of a longer dimension.
bool repeatsAtCut(llvm::ArrayRef<Repeat> repeats, int64_t size, int64_t blocks);

} // namespace cleave

#endif
