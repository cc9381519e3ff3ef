// Recognizes known indices at regular distances: start + sum of i_k * stride_k.
//
// PyTorch's exporter writes as_strided as a flat view, which is indexed with all positions. A view of windows is an
// example:
//
//   Gather(x as [16], [[[0, 1], [4, 5]], [[2, 3], [6, 7]]])     strides 2, 4, 1
//
// This is a rectangle of x as [4, 2, 2], with its dimensions in another order. So no index is read, samples stay in
// their dimension, and the gradient needs no scatter.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_STRIDEDINDICES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_STRIDEDINDICES_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// Gathers along `dim`. Returns null if the indices are not such a rectangle: if elements are gathered twice (windows
// that overlap), or if the distances do not divide each other.
Value takeStrided(Emitter &emit, Value x, const Literal &indices, int64_t dim);

} // namespace cleave::onnx_import

#endif
