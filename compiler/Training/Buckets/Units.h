// Which parameters are gathered together, where parameters are stored split: a plain algorithm on sizes and places.
//
// While a unit is gathered, a rank holds it whole; while its gradients are made, it holds these whole, too. So what
// splitting saves is lost again where units are large or are needed for long. Four rules, in this order:
//
// 1. Small parameters (biases, scales of norms; together at most 1/32 of all bytes) are *resident*: one unit, number 0,
//    that the forward pass and the backward pass gather once each. Chains of elementwise ops that the backward pass
//    computes again read them across blocks, and would hold the blocks' own units from their first op to their last.
// 2. A parameter that is used in several places (a tied embedding) is gathered alone: it is needed from the first of
//    them to the last.
// 3. The others of a block are together, and so are those between the same two blocks (before the first one, after the
//    last one). Blocks are those of find-blocks.
// 4. A unit of more than 1/8 of all bytes is cut in the order of first use. A parameter is never cut.
//
//   places   0 stem | 1 block | 2 between | 3 block | 4 head
//   w0 90 kB at 0, w1 200 kB at 1, b1 1 kB at 1, w3 200 kB at 3, b3 1 kB at 3, w4 300 kB at 4, v4 200 kB at 4
//   units    0: b1 b3    1: w0    2: w1    3: w3    4: w4    5: v4
//
// By these rules two units in use, two of unreduced gradients and the ring's buffer take at most 5/8 of a model whose
// largest parameter is not above 1/8 of it. Splitting parameters and gradients over two ranks saves all of it once.
// Rejected: blocks alone. A network that widens has half of its parameters in its last three blocks, and one of many
// kinds of blocks has most of them outside blocks; ResNet-50 and MobileNetV3 then took more than without splitting.
#ifndef CLEAVE_COMPILER_TRAINING_BUCKETS_UNITS_H
#define CLEAVE_COMPILER_TRAINING_BUCKETS_UNITS_H

#include <cstdint>
#include <vector>

namespace cleave {

inline constexpr int64_t kResidentUnit = 0;

struct UnitMember {
  int64_t bytes = 0;
  int64_t firstPlace = 0, lastPlace = 0; // of its uses: odd in a block, even between blocks
  int64_t order = 0;                     // of its first use
};

// Bytes above which a unit of a model of `total` bytes is cut.
int64_t unitCap(int64_t total);

// The unit of each member. Numbers ascend in the order of first use.
std::vector<int64_t> formUnits(const std::vector<UnitMember> &members);

} // namespace cleave

#endif
