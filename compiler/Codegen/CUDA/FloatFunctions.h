// f32 functions that a GPU computes by its approximate instructions: exp, tanh and erf, to 4 ulp.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_FLOATFUNCTIONS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_FLOATFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

void populateFloatFunctions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
