// Builds the gradient of one op. The gradient of an op on 16-bit numbers is computed in f32, and is rounded once when
// it leaves the op, as the op's own result is:
//
//   y = tanh(x), all of bf16:     dx = bf16(f32(dy) * (1 - f32(y) * f32(y)))
//
// A rule (DifferentiableOpInterface) builds the gradient from several ops, and each op rounds to its type. So if a rule
// has more than one step, it is applied to the op's twin in f32: the same op, with widened operands and results.
// Constants of the rule (2 / sqrt(pi) of erf) are then f32, too. The widened values are casts inside of a fused loop,
// and are not stored. With --recompute never they are stored: a value that a rule computes from operands and results
// alone (1 - y * y) is then kept in f32.
//
// Some gradients are not widened: rules of one step, which round once anyway; ops that only move elements; kernels,
// which add in f32 and round once themselves, and whose operands must not be widened in memory; and ops on f32 and f64.
//
// Rejected: casts in each rule, because every new rule would have to know about it. Rejected: gradients that are f32
// between ops. PyTorch rounds them there, and they would take twice the memory.
#ifndef CLEAVE_COMPILER_TRAINING_CHUNKS_OPGRADIENT_H
#define CLEAVE_COMPILER_TRAINING_CHUNKS_OPGRADIENT_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// Does the same as DifferentiableOpInterface::buildVJP. The ops are inserted at the builder's insertion point, which
// must be after the op. The gradients have the operands' types.
llvm::LogicalResult buildGradient(mlir::OpBuilder &builder, DifferentiableOpInterface op,
                                  llvm::ArrayRef<mlir::Value> resultGrads,
                                  llvm::SmallVectorImpl<mlir::Value> &operandGrads);

} // namespace cleave

#endif
