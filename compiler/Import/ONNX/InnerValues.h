// Which values are inside of an operator: what a handler emits on its way to the node's results.
//
//   y = Asinh(x)        x and y are values of the model; |x|, its square and their sum are inner values
//
// A framework computes an operator of half precision in f32 and rounds its result alone. So inner values are marked
// (`cleave.inner`), and precision does not round them. In an operator that has products, a recurrent layer, say, values
// between them are kept for the backward pass as those between operators are, and none is marked.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INNERVALUES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INNERVALUES_H

#include "mlir/IR/Operation.h"

namespace cleave::onnx_import {

// Marks the ops from `first` to the end of its block that make floating-point numbers, but not those of `results`.
void markInnerValues(mlir::Operation *first, llvm::ArrayRef<mlir::Value> results);

} // namespace cleave::onnx_import

#endif
