// Ops whose loops may be cut: a loop over 3136 elements becomes one over 56 and an inner one over 56, and a loop over a
// single element is removed. The bytes of all tensors stay in place; only their shapes change.
//
//   %s = cleave.reduce sum %x, [1, 3] : tensor<1x8x16x3136xf32> -> tensor<1x16xf32>       loops 1 8 16 3136
//   %s = cleave.reduce sum %x, [0, 2, 3] : tensor<8x16x56x56xf32> -> tensor<16xf32>       parts 0 1  1    2
//
// `dissolve-reshapes` cuts loops if a reshape is between two ops that could be one kernel.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_CUTLOOPS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_CUTLOOPS_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// True if the op computes each element of its one result from the operands' elements at the same index, independently
// of that index.
bool computesAtOwnIndex(mlir::Operation *op);

// True if the op's loops may be cut.
bool hasCutLoops(mlir::Operation *op);
// Builds the op with cut loops, as CutLoopsOpInterface::withCutLoops describes.
mlir::Value cutLoops(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                     mlir::RankedTensorType result, llvm::ArrayRef<int64_t> parts);

// Attaches the interface. The dialect calls it when it is loaded.
void attachCutLoops(mlir::MLIRContext &context);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveCutLoops.h.inc"

#endif
