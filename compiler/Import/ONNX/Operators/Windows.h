// Kernel, strides, dilations and padding of convolutions and pools, with ONNX's defaults and auto_pad resolved.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_WINDOWS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_WINDOWS_H

#include "compiler/Import/ONNX/OpContext.h"

namespace cleave::onnx_import {

struct Windows {
  Shape kernel, strides, dilations, padLow, padHigh; // one entry a spatial dimension
  Shape output;                                      // number of windows
  Shape beyond;                                      // what ceil_mode has added to padHigh
};

// For an input [n, c, spatial...]. With ceil_mode, padHigh is enlarged so that plain rounding down gives the same
// number of windows; a window that would begin in the padding is not counted.
llvm::FailureOr<Windows> readWindows(OpContext &op, llvm::ArrayRef<int64_t> input, Shape kernel);

// Of a transposed convolution of an input with these spatial sizes. `covered` is what the windows cover, before
// anything is cut off: (size - 1) * stride + (kernel - 1) * dilation + 1.
struct TransposedWindows {
  Shape kernel, strides, dilations, padLow, padHigh, outputPadding, covered;
};
llvm::FailureOr<TransposedWindows> readTransposedWindows(OpContext &op, llvm::ArrayRef<int64_t> sizes, Shape kernel);

} // namespace cleave::onnx_import

#endif
