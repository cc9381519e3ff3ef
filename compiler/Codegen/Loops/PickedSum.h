// A sum that picks one of its terms: of
//
//   sum over j of (counter[i, j] == label[i] ? x[i, j] : 0)        counter[i, j] = j, or j plus an origin
//
// all terms are zero but the one at j = label[i] - origin. So it is no reduction: its result is the term at that place,
// and zero where the place is outside of the row. The term there is the whole choice, so that it is zero there, too.
// Cross-entropy reads the probability of a label this way. A form of operators without computed places, it can be split
// over ranks along j, which is why it becomes an access at a computed place only here.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_PICKEDSUM_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_PICKEDSUM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace cleave {

struct PickedSum {
  unsigned loop = 0;          // of the sum: the one that it reduces
  mlir::Value counter, label; // as large as the sum's operand; `label` is the same for all j
};

// `isInside` tells which ops are computed with the sum: the whole choice must be.
std::optional<PickedSum> findPickedSum(mlir::linalg::GenericOp sum,
                                       llvm::function_ref<bool(mlir::Operation *)> isInside);

} // namespace cleave

#endif
