// f32 functions for which a GPU has an approximate instruction that is exact enough: exp by a power of two.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_FLOATFUNCTIONS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_FLOATFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

void populateFloatFunctions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
