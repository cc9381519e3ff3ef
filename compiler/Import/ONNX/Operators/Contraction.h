// Builds numpy's matmul from cleave.matmul, for all operators that contain one.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CONTRACTION_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CONTRACTION_H

#include "compiler/Import/ONNX/OpContext.h"

namespace cleave::onnx_import {

// Vectors are promoted to matrices, and batch dimensions broadcast. Fails with a message if the shapes do not fit.
llvm::FailureOr<Value> emitMatMul(OpContext &op, Value a, Value b);

} // namespace cleave::onnx_import

#endif
