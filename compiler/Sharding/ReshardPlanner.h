// From the sharding in which a value is made to the one in which it is used: the collectives between them.
//
// A collective is nothing but that difference. With axes a and b of a mesh:
//
//   made [[a], []]             used [[], []]             all_gather a along 0
//   made [[], []], partial a   used [[], []]             all_reduce a
//   made [[], []], partial a   used [[a], []]            reduce_scatter a along 0
//   made [[], []]              used [[a], []]            all_slice a along 0 (no communication)
//   made [[a], []]             used [[], [a]]            all_to_all a, split 1, concatenate 0
//   made [[a, b]]              used [[a]]                all_gather b along 0
//   made [[], []], partial a   used [[], []], owner a    reduce a, to the rank at coordinate 0
//   made [[], []], owner a     used [[], []]             broadcast a
//   made [[], []]              used [[], []], owner a    nothing: the owner has it
//
// Blocks (ShardingAttr) do not count here: a dimension of blocks is two, see Collectives::reshard.
//
// Dimensions keep the common prefix of their axes: only suffixes are gathered and appended, because a dimension's axes
// are slowest first and so a suffix names neighbouring blocks. Slices come before reductions (fewer bytes), and
// gathers last. Rejected: gather everything, then slice: simpler, but moves whole tensors where neighbours suffice.
#ifndef CLEAVE_COMPILER_SHARDING_RESHARDPLANNER_H
#define CLEAVE_COMPILER_SHARDING_RESHARDPLANNER_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

enum class ReshardKind { AllReduce, ReduceScatter, AllGather, AllSlice, AllToAll, Reduce, Broadcast };

struct ReshardCollective {
  ReshardKind kind;
  llvm::SmallVector<llvm::StringRef> axes; // slowest first
  int64_t dim = -1;                        // gathered, sliced or scattered; split, for all_to_all
  int64_t concatDim = -1;                  // all_to_all only
  ReduceKind reduction = ReduceKind::Sum;  // reductions only
  ShardingAttr result;                     // the sharding after this collective
};

// The collectives from `made` to `used`; empty when they are equal. Fails where no collective helps: `used` is partial
// over an axis over which `made` is not, or combines by another kind.
llvm::FailureOr<llvm::SmallVector<ReshardCollective>> planReshard(ShardingAttr made, ShardingAttr used);

// `made`, and whole in dimensions that both split in different blocks.
ShardingAttr withEqualBlocks(ShardingAttr made, ShardingAttr used);

} // namespace cleave

#endif
