// Finds the components of an index tensor.
//
// GatherND and ScatterND take tuples: indices [space..., k] give, for every point of the index space, a position in k
// dimensions. Exporters build them from broadcast parts, the components:
//
//   mask[arange(B)[:, None], positions[None, :]]      space [B, T]
//     component 0, of dimension 0    varies along dimension 0 of the space, and is the coordinate itself
//     component 1, of dimension 1    varies along dimension 1
//
// If the components are known, dimension 0 needs no index here: it is a batch, which ranks can share.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXCOMPONENTS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXCOMPONENTS_H

#include "compiler/Import/ONNX/OpContext.h"

namespace cleave::onnx_import {

struct IndexComponent {
  Shape dims;                      // dimensions of the space along which it varies, ascending
  std::optional<int64_t> position; // set: it is the coordinate along this dimension
  std::optional<Literal> known;    // the indices, if known; their shape is that of `dims` in the space
  Value value;                     // the indices, if not known

  // Returns the coordinate along dimension `dim` of the space.
  static IndexComponent coordinate(int64_t dim) { return {{dim}, dim, std::nullopt, Value()}; }
};

// Analyzes indices through the broadcasts, reshapes and casts that built them. The space is the value's shape. After the
// budget is exhausted, components may be missing, or have neither indices nor a position.
IndexComponent analyzeIndices(OpContext &op, Value indices);
// Analyzes input `i`. Uses its literal if there is one.
IndexComponent analyzeIndexInput(OpContext &op, size_t i);
// Returns the components of tuples that are in the last dimension of input `i`.
llvm::SmallVector<IndexComponent> splitIndexInput(OpContext &op, size_t i);

// If the indices count up by one and are all within a dimension of this size, returns the first one.
std::optional<int64_t> firstOfRun(Emitter &emit, const Literal &indices, int64_t size);

} // namespace cleave::onnx_import

#endif
