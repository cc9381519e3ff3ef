// `cleave.triangle` on a constant state says that its matrix tells the columns up to a row from those after it, as
// causal masks do. The importer, which has the values, writes it; `form-attention` reads it.
//
//   BoolAttr    booleans: true where column <= row and false elsewhere (true), or the other way round (false)
//   FloatAttr   numbers: 0 where column <= row, and elsewhere at most this, which is far below all scores
//   DenseF64ArrayAttr   [a, b], numbers: a where column <= row, and b elsewhere (torch.tril of ones: [1, 0])
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_TRIANGLE_H
#define CLEAVE_DIALECTS_CLEAVE_IR_TRIANGLE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave {

// Whether a score that gets this has no part in a row that has another one.
inline bool leavesNothing(double score) { return score <= -1e30; }

// What a matrix (the last two dimensions; the others are of size 1) with these elements is; null where it is no
// triangle.
mlir::Attribute triangleOf(mlir::RankedTensorType type, llvm::function_ref<double(int64_t index)> element);

} // namespace cleave

#endif
