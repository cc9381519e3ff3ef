// f64 functions that have no instruction on a GPU, where the host calls the C library: exp, log and pow by polynomials,
// right to a few ulp. The optimizers' bias corrections need them in each model.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_DOUBLEFUNCTIONS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_DOUBLEFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

void populateDoubleFunctions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
