// Rules that several levels share. Every check emits one error for every op that breaks its rule and returns failure if
// there was any; a verify pass runs all of them, so that one run shows all there is to repair.
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_LEVELCHECKS_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_LEVELCHECKS_H

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// The module says `cleave.level = "<level>"` and has a mesh.
llvm::LogicalResult checkLevel(mlir::ModuleOp module, llvm::StringRef level);
// No `cleave.kernel`, no collective, no storage: where and how are still open. `checkAttributes` refuses
// `cleave.sharding`.
llvm::LogicalResult checkUnsharded(mlir::ModuleOp module);
// In every function, reads of a state stand before its write, and there is one write.
llvm::LogicalResult checkStateAccess(mlir::ModuleOp module);
// Functions have one block that ends in func.return, and call nobody.
llvm::LogicalResult checkFunctions(mlir::ModuleOp module);
// Arguments and results with attributes are tensors of static shapes, and `cleave.batch_dim` is a dimension of them.
llvm::LogicalResult checkPorts(mlir::func::FuncOp function);
// Every argument and result has a `cleave.name`.
llvm::LogicalResult checkAllNamed(mlir::func::FuncOp function);

} // namespace cleave

#endif
