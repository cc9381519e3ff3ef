// Tensors whose channels are last in memory (CleaveChannelsLast.td). A tensor [n, c, s...] of rank 3 or more has its
// channels in dimension 1; channels-last it is [n, s..., c]. `assign-layouts` decides which values have this layout,
// and ops say which of their tensors may have it:
//
//   %y = cleave.add %a, %b : tensor<1x8x5x7xf32>            operands and result channels-last, or none
//   %m = cleave.reduce sum %y, [2, 3]                       the operand; the result [1, 8] is the same either way
//   %r = cleave.broadcast %bias, [1] : tensor<8xf32> -> ... only the result, which costs nothing
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_CHANNELSLAST_H
#define CLEAVE_DIALECTS_CLEAVE_IR_CHANNELSLAST_H

#include "dialects/Cleave/IR/Cleave.h"

#include <functional>

namespace cleave {

// An op's form for such tensors: which operands, and whether its one result, are channels-last. `plainBytes` are the
// bytes that the op moves only because they are not. `build` takes the operands in the new form; the old op still
// exists.
struct ChannelsLastForm {
  llvm::SmallVector<bool> operands;
  bool result = false;
  int64_t plainBytes = 0;
  std::function<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> build;
};

// Permutations of cleave.transpose: [0, 2, ..., rank - 1, 1], and its inverse.
llvm::SmallVector<int64_t> channelsLastOrder(int64_t rank);
llvm::SmallVector<int64_t> channelsFirstOrder(int64_t rank);

// The types of such a tensor, which must have rank 3 or more.
mlir::RankedTensorType toChannelsLast(mlir::RankedTensorType type);
mlir::RankedTensorType toChannelsFirst(mlir::RankedTensorType type);

// True if a transpose leaves every byte in its place: it only moves dimensions of one element.
bool keepsBytes(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);

// Returns the form of an op, if it has one.
std::optional<ChannelsLastForm> channelsLastForm(mlir::Operation *op);

// Attaches the interface to ops. The dialect calls it once, when it is loaded.
void attachChannelsLast(mlir::MLIRContext &context);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveChannelsLast.h.inc"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveChannelsLastOps.h.inc"

#endif
