// Known indices at regular distances: start + sum of i_k * stride_k.
//
// PyTorch's exporter writes as_strided as a flat view that is indexed by all places, and a view of windows is one:
//
//   Gather(x as [16], [[[0, 1], [4, 5]], [[2, 3], [6, 7]]])     strides 2, 4, 1
//
// That is a rectangle of x as [4, 2, 2], in another order of dimensions. So no index is read, samples stay where they
// are, and the gradient needs no scatter.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_STRIDEDINDICES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_STRIDEDINDICES_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// Gather along `dim`; null where the indices are no such rectangle. Elements that are taken twice (windows that
// overlap) are none, and neither are distances that do not divide each other.
Value takeStrided(Emitter &emit, Value x, const Literal &indices, int64_t dim);

} // namespace cleave::onnx_import

#endif
