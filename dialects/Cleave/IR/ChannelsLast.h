// Tensors whose channels are last in memory (CleaveChannelsLast.td). A tensor [n, c, s...] of rank 3 or more has its
// channels in dimension 1; channels-last it is [n, s..., c]. `assign-layouts` decides which values are so, and ops say
// what they can do with them:
//
//   %y = cleave.add %a, %b : tensor<1x8x5x7xf32>            operands and result channels-last, or none
//   %m = cleave.reduce sum %y, [2, 3]                       the operand; the result [1, 8] is the same either way
//   %r = cleave.broadcast %bias, [1] : tensor<8xf32> -> ... the result alone, and so for nothing
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_CHANNELSLAST_H
#define CLEAVE_DIALECTS_CLEAVE_IR_CHANNELSLAST_H

#include "dialects/Cleave/IR/Cleave.h"

#include <functional>

namespace cleave {

// An op's form for such tensors: which operands, and whether its one result, come so. `plainBytes` are what the op moves
// about only because they do not. `build` takes operands as they then come; the op is still there.
struct ChannelsLastForm {
  llvm::SmallVector<bool> operands;
  bool result = false;
  int64_t plainBytes = 0;
  std::function<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> build;
};

// Permutations of cleave.transpose: [0, 2, ..., rank - 1, 1], and the one that takes it back.
llvm::SmallVector<int64_t> channelsLastOrder(int64_t rank);
llvm::SmallVector<int64_t> channelsFirstOrder(int64_t rank);

// The types of such a tensor; rank 3 or more.
mlir::RankedTensorType toChannelsLast(mlir::RankedTensorType type);
mlir::RankedTensorType toChannelsFirst(mlir::RankedTensorType type);

// Whether a transpose leaves every byte where it is: it moves dimensions of one element only.
bool keepsBytes(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);

// The form of any op, if it has one.
std::optional<ChannelsLastForm> channelsLastForm(mlir::Operation *op);

// Gives ops the interface: once, when the dialect is loaded.
void attachChannelsLast(mlir::MLIRContext &context);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveChannelsLast.h.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveChannelsLastOps.h.inc"

#endif
