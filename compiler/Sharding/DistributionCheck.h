// The proof of `verify-sharded`. It derives the distribution of each value (Distribution.h) from the ops alone, and
// compares it with the storage of states, the declarations of arguments and results, and the operands that each op
// accepts. If a pass has forgotten, doubled or changed a collective, some value has another distribution than its use
// expects.
//
// The proof applies to the sharded level and to kernels form (it looks into kernels), whatever passes ran in between.
// It does not prove the mathematics: other levels ensure that the program of all ranks together is the model's.
#ifndef CLEAVE_COMPILER_SHARDING_DISTRIBUTIONCHECK_H
#define CLEAVE_COMPILER_SHARDING_DISTRIBUTIONCHECK_H

#include "compiler/Sharding/DistributionRules.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// Emits an error for every value that is not distributed as its use expects, and fails if there was one. The module
// must have a mesh, storage on all states, and shardings on the ports.
llvm::LogicalResult checkDistributions(mlir::ModuleOp module, MeshAttr mesh);

} // namespace cleave

#endif
