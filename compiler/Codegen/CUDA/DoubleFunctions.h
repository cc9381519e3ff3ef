// Functions that have no instruction on a GPU, where the host calls the C library, by formulas in f64: exp, log, pow and
// others by polynomials, right to a few ulp, and the remainder of division, which is exact. The optimizers' bias
// corrections need them in each model. Powers and remainders of narrower types are computed in f64, too.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_DOUBLEFUNCTIONS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_DOUBLEFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

void populateDoubleFunctions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
