// Plans the collectives that lead from the sharding in which a value is made to the one in which it is used.
//
// A collective is exactly this difference. With axes a and b of a mesh:
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
// Blocks (ShardingAttr) do not appear here, because a dimension of blocks is treated as two dimensions
// (Collectives::reshard).
//
// Dimensions keep the common prefix of their axes. Only suffixes are gathered and appended, because a dimension's axes
// are slowest first, and so a suffix names neighbouring blocks. Slices come before reductions (fewer bytes), and
// gathers last. Rejected: gather everything, then slice. This is simpler, but moves whole tensors even if neighbours
// suffice.
#ifndef CLEAVE_COMPILER_SHARDING_RESHARDPLANNER_H
#define CLEAVE_COMPILER_SHARDING_RESHARDPLANNER_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

enum class ReshardKind { AllReduce, ReduceScatter, AllGather, AllSlice, AllToAll, Reduce, Broadcast };

struct ReshardCollective {
  ReshardKind kind;
  llvm::SmallVector<llvm::StringRef> axes; // slowest first
  int64_t dim = -1;       // the dimension that is gathered, sliced or scattered; for all_to_all, the one that is split
  int64_t concatDim = -1; // all_to_all only
  ReduceKind reduction = ReduceKind::Sum; // reductions only
  ShardingAttr result;                    // the sharding after this collective
};

// Returns the collectives from `made` to `used`; none if they are equal. Fails if no collective helps: `used` is
// partial over an axis over which `made` is not partial, or its terms are combined by another kind.
llvm::FailureOr<llvm::SmallVector<ReshardCollective>> planReshard(ShardingAttr made, ShardingAttr used);

// Returns `made`, but whole in dimensions that both split in different blocks.
ShardingAttr withEqualSplitFactors(ShardingAttr made, ShardingAttr used);

} // namespace cleave

#endif
