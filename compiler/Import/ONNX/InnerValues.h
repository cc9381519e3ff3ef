// Which values are inside of an operator: what a handler emits on its way to the node's results.
//
//   y = Asinh(x)        x and y are values of the model; |x|, its square and their sum are inner values
//
// A framework computes most operators of half precision in f32 and rounds the result alone. So inner values are marked
// (`cleave.inner`), and precision does not round them. Pools are ops as others are: LpPool's squares, their mean and its
// root are one operator.
//
// An operator with products is marked where it has one, and scales it: Gemm's alpha is applied before the result is
// rounded, for the product alone may be beyond fp16 (alpha = 1/64). In a recurrent layer, an Einsum of three operands or
// an attention none is marked: values between products are kept for the backward pass as those between operators are,
// and PyTorch rounds them, too. (That is of --precision. In a model that is of 16-bit types itself, a handler asks for
// f32: OpContext::computeInF32.)
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INNERVALUES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INNERVALUES_H

#include "mlir/IR/Operation.h"

namespace cleave::onnx_import {

// Marks the ops from `first` to the end of its block that make floating-point numbers, but not those of `results`.
void markInnerValues(mlir::Operation *first, llvm::ArrayRef<mlir::Value> results);

} // namespace cleave::onnx_import

#endif
