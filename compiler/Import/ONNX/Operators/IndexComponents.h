// What an index tensor is made of.
//
// GatherND and ScatterND take tuples: indices [space..., k] name, for every point of the index space, a position of k
// dimensions. Exporters build them of broadcast parts,
//
//   mask[arange(B)[:, None], positions[None, :]]      space [B, T]
//     component 0, of dimension 0    varies along dimension 0 of the space, and is the coordinate itself
//     component 1, of dimension 1    varies along dimension 1
//
// and who sees the parts need not index at all along dimension 0: it is a batch, which ranks can share.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXCOMPONENTS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXCOMPONENTS_H

#include "compiler/Import/ONNX/OpContext.h"

namespace cleave::onnx_import {

struct IndexComponent {
  Shape dims;                      // the dimensions of the space along which it varies, ascending
  std::optional<int64_t> position; // it is the coordinate along this dimension
  std::optional<Literal> known;    // of the shape that the space has along `dims`
  Value value;                     // the same, where it is not known

  // The coordinate along one dimension of the space, which has this size.
  static IndexComponent coordinate(int64_t dim) { return {{dim}, dim, std::nullopt, Value()}; }
};

// Looks through what spreads and reshapes it. The value's shape is the space.
IndexComponent analyzeIndices(OpContext &op, Value indices);
// The same of input `i`, whose literal it uses.
IndexComponent analyzeIndexInput(OpContext &op, size_t i);
// The components of tuples that lie along the last dimension of input `i`.
llvm::SmallVector<IndexComponent> splitIndexInput(OpContext &op, size_t i);

// The first of integers that count up by one and lie within a dimension of this size.
std::optional<int64_t> firstOfRun(Emitter &emit, const Literal &indices, int64_t size);

} // namespace cleave::onnx_import

#endif
