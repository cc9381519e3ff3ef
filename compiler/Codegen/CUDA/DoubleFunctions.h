// Formulas in f64 for functions that have no instruction on a GPU, and for which the host calls the C library: exp,
// log, pow and others by polynomials, right to a few ulp, and the remainder of division, which is exact. The
// optimizers' bias corrections need them in each model. Powers and remainders of narrower types are computed in f64
// too.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_DOUBLEFUNCTIONS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_DOUBLEFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

void populateDoubleFunctions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
