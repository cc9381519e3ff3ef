// The gradient of one op. Of 16-bit numbers it is computed in f32 and rounded once, when it leaves the op, as the op's
// own result is:
//
//   y = tanh(x), all of bf16:     dx = bf16(f32(dy) * (1 - f32(y) * f32(y)))
//
// A rule (DifferentiableOpInterface) composes the gradient of several ops, and each op rounds to its type. So a rule of
// more than one step is asked about the op's twin in f32: the same op, of which operands and results are widened.
// Numbers of the rule (2 / sqrt(pi) of erf) are then f32, too. The widened values are casts inside of a fused loop, and
// are not stored, but for --recompute never: what a rule computes of the operands and results alone (1 - y * y) is kept
// there as it is, in f32.
//
// Left as they are: rules of one step, which round once anyway; ops that only move elements; kernels, which add in f32
// and round once themselves, and whose operands must not be widened in memory; and everything of f32 and f64.
//
// Rejected: casts in each rule (every new rule has to know about it); gradients that are f32 between ops (PyTorch
// rounds them there, and they would take twice the memory).
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_OPGRADIENT_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_OPGRADIENT_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// As DifferentiableOpInterface::buildVJP, at the builder's place, which must stand after the op. The gradients have the
// operands' types.
llvm::LogicalResult buildGradient(mlir::OpBuilder &builder, DifferentiableOpInterface op,
                                  llvm::ArrayRef<mlir::Value> resultGrads,
                                  llvm::SmallVectorImpl<mlir::Value> &operandGrads);

} // namespace cleave

#endif
