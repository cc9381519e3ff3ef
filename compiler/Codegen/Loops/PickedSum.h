// Finds sums that pick one of their terms. In
//
//   sum over j of (counter[i, j] == label[i] ? x[i, j] : 0)        counter[i, j] = j, or j plus an origin
//
// all terms are zero except the one at j = label[i] - origin. So the sum is not a reduction: its result is the term at
// that place, or zero if the place is outside of the row. The term that is computed is the whole choice, so it is zero
// in that case too. Cross-entropy reads the probability of a label in this way. The form above has no computed places,
// so it can be split over ranks along j. Therefore it becomes an access at a computed place only here.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_PICKEDSUM_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_PICKEDSUM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace cleave {

struct PickedSum {
  unsigned loop = 0;          // the loop of the sum that it reduces
  mlir::Value counter, label; // as large as the sum's operand; `label` is the same for all j
};

// Returns the loop and operands of such a sum; none if `sum` picks no term. `isInside` says which ops are computed with
// the sum: all ops of the choice must be.
std::optional<PickedSum> findPickedSum(mlir::linalg::GenericOp sum,
                                       llvm::function_ref<bool(mlir::Operation *)> isInside);

} // namespace cleave

#endif
