// Stacks tensors along a new dimension, and takes such a tensor apart again.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_STACKING_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_STACKING_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// Returns the shape with a new dimension of size 1 at position `dim`.
inline Shape unsqueezed(llvm::ArrayRef<int64_t> shape, int64_t dim) {
  Shape result(shape);
  result.insert(result.begin() + dim, 1);
  return result;
}
inline Value unsqueeze(Emitter &emit, Value value, int64_t dim) {
  return emit.reshape(value, unsqueezed(shapeOf(value), dim));
}

// Returns part `i` along dimension `dim`, without this dimension.
inline Value partOf(Emitter &emit, Value value, int64_t dim, int64_t i) {
  Value part = emit.sliceDim(value, dim, i, 1);
  return emit.reshape(part, reducedShape(shapeOf(part), {dim}, false));
}

} // namespace cleave::onnx_import

#endif
