// Checks the groups of --batch-norm local. The import cuts dimension 0 of normalized values into one group for each
// rank.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_BATCHNORMGROUPS_H
#define CLEAVE_COMPILER_DRIVER_MODEL_BATCHNORMGROUPS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Fails if the samples are not outermost in that dimension, because a group is then not the samples of one rank.
llvm::Error checkBatchNormGroups(mlir::ModuleOp module, int64_t groups);

} // namespace cleave

#endif
