// With --batch-norm local, importing cuts dimension 0 of what is normalized into groups, one a rank.
#ifndef CLEAVE_COMPILER_DRIVER_BATCHNORMGROUPS_H
#define CLEAVE_COMPILER_DRIVER_BATCHNORMGROUPS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

// An error where the samples do not lie outermost in that dimension, so that a group is not what a rank holds.
llvm::Error checkBatchNormGroups(mlir::ModuleOp module, int64_t groups);

} // namespace cleave

#endif
