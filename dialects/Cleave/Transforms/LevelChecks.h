// Rules that several levels share. Every check emits one error for every op that violates its rule, and returns failure
// if there was one. A verify pass runs all checks, so that one run shows all errors.
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_LEVELCHECKS_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_LEVELCHECKS_H

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// The module must have `cleave.level = "<level>"` and a mesh.
llvm::LogicalResult checkLevel(mlir::ModuleOp module, llvm::StringRef level);
// There must be no `cleave.kernel`, no collective and no storage, because these are not decided yet. `checkAttributes`
// refuses `cleave.sharding`.
llvm::LogicalResult checkUnsharded(mlir::ModuleOp module);
// In every function, reads of a state come before its write, and there is one write.
llvm::LogicalResult checkStateAccess(mlir::ModuleOp module);
// Functions have one block that ends in func.return, and call no functions.
llvm::LogicalResult checkFunctions(mlir::ModuleOp module);
// Arguments and results with attributes are tensors of static shapes, and `cleave.batch_dim` is one of their
// dimensions.
llvm::LogicalResult checkPorts(mlir::func::FuncOp function);
// Every argument and result has a `cleave.name`.
llvm::LogicalResult checkAllNamed(mlir::func::FuncOp function);

} // namespace cleave

#endif
