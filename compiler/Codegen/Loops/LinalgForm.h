// Single ops as linalg on tensors: what a kernel's code is made of.
//
// Fusion lowers the ops of a block once, and asks of every group that it considers whether the loops of their forms make
// one iteration space. Code generation lowers the ops of a kernel the same way, and asks the same. So whatever fusion
// joins can be compiled.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_LINALGFORM_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_LINALGFORM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace cleave {

// Loads the dialects of the forms. Passes that lower list them as dependent (addLinalgFormDialects) instead.
void loadLinalgFormDialects(mlir::MLIRContext &context);
void addLinalgFormDialects(mlir::DialectRegistry &registry);

// Appends the form of `op` where the builder stands, and returns its ops: none without a user except those of the op's
// results, no named linalg op. `mapping` has the values that stand for the operands; it gets those of the results. Fails
// where the op can be no part of a kernel; `why` tells the reason.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>> lowerToLinalg(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                    mlir::IRMapping &mapping, std::string &why);

} // namespace cleave

#endif
