// The arithmetic of windows, shared by convolutions and pools. Along one spatial dimension, output o reads the inputs
//
//   i = o * stride - pad_low + w * dilation,   w = 0 ... kernel-1,   where 0 <= i < in
//
// so out = (in + pad_low + pad_high - ((kernel - 1) * dilation + 1)) / stride + 1, rounded down.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_WINDOWSUPPORT_H
#define CLEAVE_DIALECTS_CLEAVE_IR_WINDOWSUPPORT_H

#include "dialects/Cleave/IR/OpSupport.h"

namespace cleave {

struct Window {
  llvm::ArrayRef<int64_t> kernel, strides, dilations, padLow, padHigh;
};

// Emits "'op' op " at the op's place; the message follows.
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

// Checks the window against the spatial sizes of its input, and computes those of its output.
llvm::FailureOr<SmallVector<int64_t>> windowOutput(const Window &window, llvm::ArrayRef<int64_t> in,
                                                   EmitError emitError);
// The same for a pool. A window that is completely in the padding has no maximum and no mean, so padding must be smaller
// than a window.
llvm::FailureOr<SmallVector<int64_t>> poolOutput(const Window &window, llvm::ArrayRef<int64_t> in, EmitError emitError);
// Fails unless `got` is the type that the forward op would have made.
llvm::LogicalResult checkForwardType(mlir::Type got, mlir::RankedTensorType expected, EmitError emitError);
// Appends the parameters of Kernels.def from `rank` on: rank in out kernel stride dilation pad_low pad_high.
void appendWindowParams(KernelSpec &spec, const Window &window, llvm::ArrayRef<int64_t> in,
                        llvm::ArrayRef<int64_t> out);

} // namespace cleave

#endif
