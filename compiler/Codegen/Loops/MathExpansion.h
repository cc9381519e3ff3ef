// Expands those f32 functions to straight-line code that vectorizes for which upstream's approximations are not
// accurate over all numbers. Upstream expands the others. f64 functions are those of the C library, because people
// choose f64 for its accuracy.
//
//   exp, expm1   2^n e^r with |r| <= ln(2)/2. The scale 2^n is applied in two factors, so that results below the normal
//                numbers are rounded once, and e^x overflows where f32 does (1 and 1.4 ulp)
//   tanh         1 - 2t / (1 + t) with t = e^(-2|x|), and a polynomial below 0.625 (1.5 ulp)
//   erf          1 - e^p(|x|), and a polynomial below 1 (1.3 ulp)
//   sin, cos     2.1 ulp, for every finite number, and never beyond 1: the angle is counted in turns, in f64; the
//                series is in f32
//
//   f64: expm1, log1p and erf become calls here. Upstream computes the first two as e^x - 1 and ln(1 + x), which are 0
//   for small x, and erf has no intrinsic. The other functions are LLVM's intrinsics, which become calls in the end.
//
// Errors are over all f32 numbers, against f64 (test/e2e/operators/elementwise-numbers.test, double-numbers.test).
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_MATHEXPANSION_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_MATHEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

// Adds the patterns, with a benefit above that of upstream's patterns for the same ops.
void populateMathExpansions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
