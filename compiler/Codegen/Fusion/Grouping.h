// Which ops of a block are computed together.
//
// Groups are numbered by the position of the op at which the group will stand. The invariant, kept by every merge, is
// that a group stands after all that it reads and before all that reads it: two groups merge at the later one's place
// when everybody who reads the earlier one stands after that, or at the earlier one's place when the later one reads
// nothing made in between. No cycle can arise, and a merge costs only a look at the direct neighbours.
//
// Order: each op, in program order, first tries the groups of its operands (producers), again whenever one was taken
// in. Then groups that read the same value are tried (siblings: the column sums of a layer norm's backward pass). A
// merge is kept when the form of the union has an iteration space (FormedOps.h): what a code generator will ask. Last,
// groups compute again what costs more to write and read (RepeatValues.h).
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_GROUPING_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_GROUPING_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace cleave {

// Ops that a kernel may hold: fusible ones, and views whose elements do not lie together. What is nothing but an
// address stays outside of kernels.
bool isFusible(mlir::Operation *op);

// Kernels beyond this size compile slowly and gain nothing.
constexpr size_t kMaxGroupedOps = 96;

struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> ops; // in program order
  mlir::Operation *place = nullptr;         // where it will stand
  std::optional<int64_t> block; // that its ops are in (BlockMarks.h); ops of two blocks are never in one group
};

// Groups of more than zero ops, in the order of their places. The block gets copies of ops, and loses ops without use.
std::vector<FusionGroup> groupOps(mlir::Block &block);

// Values of the group that something outside reads, in program order.
llvm::SmallVector<mlir::Value> groupOutputs(const FusionGroup &group);
// Values from outside that the group reads, by first use.
llvm::SmallVector<mlir::Value> groupInputs(const FusionGroup &group);

} // namespace cleave

#endif
