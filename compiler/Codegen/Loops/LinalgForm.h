// Lowers single ops to linalg on tensors. The code of a kernel is generated from this form.
//
// Fusion lowers the ops of a block once. For every group that it considers, it requires that the loops of their forms
// make one iteration space. Code generation lowers the ops of a kernel in the same way, and requires the same. So
// everything that fusion joins can be compiled.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_LINALGFORM_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_LINALGFORM_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace cleave {

// Loads the dialects of the forms. A pass must instead list them as dependent, by addLinalgFormDialects().
void loadLinalgFormDialects(mlir::MLIRContext &context);
void addLinalgFormDialects(mlir::DialectRegistry &registry);

// Appends the form of `op` at the builder's insertion point, and returns its ops. Only the ops of the results have no
// users, and there are no named linalg ops. `mapping` must have the values that stand for the operands; those of the
// results are added to it. Fails if the op cannot be part of a kernel; then `why` has the reason.
mlir::FailureOr<llvm::SmallVector<mlir::Operation *>> lowerToLinalg(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                    mlir::IRMapping &mapping, std::string &why);

} // namespace cleave

#endif
