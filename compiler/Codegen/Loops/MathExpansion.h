// f32 functions as straight-line code that vectorizes: those for which upstream's approximations are not accurate over
// all numbers. Upstream expands the rest. f64 functions are the C library's, whose accuracy f64 is chosen for.
//
//   exp, expm1   2^n e^r with |r| <= ln(2)/2, the scale 2^n in two factors: results below the normal numbers are
//                rounded once, and e^x overflows where f32 does (1 and 1.4 ulp)
//   sin, cos     2.1 ulp, of every finite number: the angle is counted in turns, in f64; the series is in f32
//
//   f64: expm1, log1p and erf become calls here. Upstream has the first two as e^x - 1 and ln(1 + x), which are 0 for
//   small x; erf has no intrinsic. The other functions are LLVM's intrinsics, which are calls in the end.
//
// Errors are over all f32 numbers, against f64 (test/e2e/operators/elementwise-numbers.test, double-numbers.test).
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_MATHEXPANSION_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_MATHEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

// With a benefit above that of upstream's patterns for the same ops.
void populateMathExpansions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
