// `cleave.triangle` on a constant state says that its matrix separates the columns up to a row from those after it, as
// causal masks do. The importer, which has the values, writes it, and `form-attention` reads it.
//
//   BoolAttr    booleans: true where column <= row and false elsewhere (true), or the other way round (false)
//   FloatAttr   numbers: 0 where column <= row, and elsewhere at most this, which is far below all scores
//   DenseF64ArrayAttr   [a, b], numbers: a where column <= row, and b elsewhere (torch.tril of ones: [1, 0])
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_TRIANGLE_H
#define CLEAVE_DIALECTS_CLEAVE_IR_TRIANGLE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave {

// True if a score that gets this number added has no part in a row that has another score.
inline bool leavesNothing(double score) { return score <= -1e30; }

// Returns the attribute for a matrix with these elements (the last two dimensions; the others must have size 1); null
// if it is not a triangle.
mlir::Attribute triangleOf(mlir::RankedTensorType type, llvm::function_ref<double(int64_t index)> element);

} // namespace cleave

#endif
