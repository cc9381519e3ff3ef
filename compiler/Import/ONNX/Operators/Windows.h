// Resolves kernel, strides, dilations and padding of convolutions and pools, with ONNX's defaults and auto_pad.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_WINDOWS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_WINDOWS_H

#include "compiler/Import/ONNX/OpContext.h"

namespace cleave::onnx_import {

struct Windows {
  Shape kernel, strides, dilations, padLow, padHigh; // one entry for each spatial dimension
  Shape output;                                      // numbers of windows
  Shape beyond;                                      // the part of padHigh that ceil_mode has added
};

// Reads the windows for an input [n, c, spatial...]. With ceil_mode, padHigh is increased so that rounding down gives
// the same number of windows. A window that would begin in the padding does not count.
llvm::FailureOr<Windows> readWindows(OpContext &op, llvm::ArrayRef<int64_t> input, Shape kernel);

// The windows of a transposed convolution whose input has these spatial sizes. `covered` is the size that the windows
// cover before anything is cut off: (size - 1) * stride + (kernel - 1) * dilation + 1.
struct TransposedWindows {
  Shape kernel, strides, dilations, padLow, padHigh, outputPadding, covered;
};
llvm::FailureOr<TransposedWindows> readTransposedWindows(OpContext &op, llvm::ArrayRef<int64_t> sizes, Shape kernel);

} // namespace cleave::onnx_import

#endif
