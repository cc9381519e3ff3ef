// Marks inner values of operators: values that a handler computes on the way to the node's results.
//
//   y = Asinh(x)        x and y are values of the model; |x|, its square and their sum are inner values
//
// A framework computes most operators of half precision in f32, and rounds only the result. So inner values are marked
// (`cleave.inner`), and the phase of precision does not round them. This includes pools: in LpPool, the squares, their
// mean and its root are one operator.
//
// Of the operators that contain products, only those are marked that contain one product and scale it. Gemm's alpha is
// applied before the result is rounded, because the product alone may exceed fp16's range (alpha = 1/64). In a
// recurrent layer, an Einsum of three operands or an attention, nothing is marked. Values between their products are
// kept for the backward pass like values between operators, and PyTorch rounds them, too. (This is about --precision.
// If the model itself has 16-bit types, a handler asks for f32 by OpContext::computeInF32.)
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INNERVALUES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INNERVALUES_H

#include "mlir/IR/Operation.h"

namespace cleave::onnx_import {

// Marks the ops from `first` to the end of its block that compute floating-point numbers, except those that define
// `results`.
void markInnerValues(mlir::Operation *first, llvm::ArrayRef<mlir::Value> results);

} // namespace cleave::onnx_import

#endif
