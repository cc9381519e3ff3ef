// Decides which parameters are gathered together if parameters are sharded. It is a plain algorithm on sizes and
// positions.
//
// While a unit is gathered, a rank holds it whole. While its gradients are made, it holds these whole, too. So sharding
// saves little if units are large, or are needed for a long time. There are four rules, in this order:
//
// 1. Small parameters (biases, scales of norms; together at most 1/32 of all bytes) are *resident*: they are one unit,
//    number 0, which the forward pass and the backward pass gather once each. The reason is that chains of elementwise
//    ops which the backward pass computes again read them across blocks. They would hold the blocks' own units from
//    their first op to their last.
// 2. A parameter that is used at several positions (a tied embedding) is gathered alone, because it is needed from the
//    first position to the last.
// 3. The other parameters of a block are together, and so are those between the same two blocks (before the first one,
//    after the last one). Blocks are those of find-blocks.
// 4. A unit of more than 1/8 of all bytes is cut in the order of first use. A parameter is never cut.
//
//   positions  0 stem | 1 block | 2 between | 3 block | 4 head
//   w0 90 kB at 0, w1 200 kB at 1, b1 1 kB at 1, w3 200 kB at 3, b3 1 kB at 3, w4 300 kB at 4, v4 200 kB at 4
//   units      0: b1 b3    1: w0    2: w1    3: w3    4: w4    5: v4
//
// With these rules, two units in use, two units of gradients that are not reduced yet, and the buffer of the ring take
// at most 5/8 of a model, if its largest parameter is not above 1/8 of it. Sharding parameters and gradients over two
// ranks saves the model's size once. Rejected: blocks alone. A network that widens has half of its parameters in its
// last three blocks, and one with many kinds of blocks has most of them outside of blocks. ResNet-50 and MobileNetV3
// then needed more memory than without sharding.
#ifndef CLEAVE_COMPILER_TRAINING_BUCKETS_UNITS_H
#define CLEAVE_COMPILER_TRAINING_BUCKETS_UNITS_H

#include <cstdint>
#include <vector>

namespace cleave {

inline constexpr int64_t kResidentUnit = 0;

struct UnitMember {
  int64_t bytes = 0;
  int64_t firstPosition = 0, lastPosition = 0; // of its uses: odd in a block, even between blocks
  int64_t order = 0;                           // position of its first use
};

// Returns the bytes above which a unit is cut, in a model of `total` bytes.
int64_t unitCap(int64_t total);

// Returns the unit of each member. Numbers ascend in the order of first use.
std::vector<int64_t> formUnits(const std::vector<UnitMember> &members);

} // namespace cleave

#endif
