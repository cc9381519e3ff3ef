// Decides which ops of a block are computed together.
//
// A group is identified by the position of the op at which it will be placed. Every merge keeps this invariant: a group
// is placed after everything that it reads and before everything that reads it. Two groups may merge at the later one's
// position if all readers of the earlier one are placed after that. They may merge at the earlier one's position if the
// later one reads nothing that is made in between. So no cycle can arise, and a merge only has to look at the direct
// neighbours.
//
// Order: each op, in program order, first tries to merge with the groups of its operands (producers), and tries again
// after each merge. Then groups that read the same value try to merge (siblings, such as the column sums of a layer
// norm's backward pass). A merge is kept if the form of the union has an iteration space (FormedOps.h), which is what a
// code generator will require. Last, groups compute values again that cost more to write and read (RepeatValues.h).
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_GROUPING_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_GROUPING_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace cleave {

// True if a kernel may contain the op: a fusible op, or a view whose elements are not contiguous. Views that are only
// an address stay outside of kernels.
bool isFusible(mlir::Operation *op);

// Kernels beyond this size compile slowly and gain nothing.
constexpr size_t kMaxGroupedOps = 96;

struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops;  // in program order
  mlir::Operation *insertionPoint = nullptr; // the group will be placed at this op
  std::optional<int64_t> block;              // of its ops (BlockMarks.h); ops of two blocks are never in one group
};

// Returns the groups that have ops, in the order of their insertion points. Adds copies of ops to the block, and erases
// ops that nothing uses any more.
std::vector<FusionGroup> groupOps(mlir::Block &block);

// Returns the values of the group that ops outside it read, in program order.
llvm::SmallVector<mlir::Value> groupOutputs(const FusionGroup &group);
// Returns the values from outside that the group reads, by first use.
llvm::SmallVector<mlir::Value> groupInputs(const FusionGroup &group);

} // namespace cleave

#endif
