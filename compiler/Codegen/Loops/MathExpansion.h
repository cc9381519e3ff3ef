// f32 functions as straight-line code that vectorizes: those for which upstream's approximations are not accurate over
// all numbers. Upstream expands the rest; f64 functions stay calls of the C library.
//
//   exp, expm1   2^n e^r with |r| <= ln(2)/2, the scale 2^n in two factors: results below the normal numbers are
//                rounded once, and e^x overflows where f32 does (1 and 1.4 ulp)
//   sin, cos     2.1 ulp, of every finite number: the angle is counted in turns, in f64; the series is in f32
//
// Errors are over all f32 numbers, against f64 (test/e2e/elementwise-numbers.test).
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_MATHEXPANSION_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_MATHEXPANSION_H

#include "mlir/IR/PatternMatch.h"

namespace cleave {

// With a benefit above that of upstream's patterns for the same ops.
void populateMathExpansions(mlir::RewritePatternSet &patterns);

} // namespace cleave

#endif
