// The proof of `verify-sharded`: what each value is on the ranks (Distribution.h) is found from the ops alone, and
// compared with what states are stored as, what arguments and results declare, and what each op can take. A collective
// that some pass forgot, doubled or changed shows as a value that is something else than its use expects.
//
// It holds for the sharded level and for kernels form (kernels are looked into), whatever passes ran in between. It says
// nothing of the mathematics: that the program of all ranks together is the model's is the business of other levels.
#ifndef CLEAVE_COMPILER_SHARDING_DISTRIBUTIONCHECK_H
#define CLEAVE_COMPILER_SHARDING_DISTRIBUTIONCHECK_H

#include "compiler/Sharding/DistributionRules.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// Emits an error for every value that is not what its use expects, and fails if there was one. The module has a mesh,
// states have storage and ports shardings.
llvm::LogicalResult checkDistributions(mlir::ModuleOp module, MeshAttr mesh);

} // namespace cleave

#endif
