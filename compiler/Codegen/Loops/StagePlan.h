// Decides which pass over the reduced loops computes which values.
//
// Stage k computes the reductions whose operands depend on k earlier reductions, and stores the results that do.
// Softmax has three: max; sum of exponentials; quotient. A stage finds a value that an earlier stage computed at the
// same index in the result's buffer, if it was stored there; or where the target keeps it (on a host:
// Codegen/Host/KeptValues.h). Otherwise it computes the value again from the inputs.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_STAGEPLAN_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_STAGEPLAN_H

#include "compiler/Codegen/Loops/KernelGraph.h"

#include <vector>

namespace cleave {

struct Stage {
  llvm::SmallVector<mlir::Operation *> reductions;
  llvm::SmallVector<unsigned> fullResults;  // result numbers, stored inside the stage's loops
  llvm::SmallVector<unsigned> outerResults; // results without reduced dimensions, stored after them
  // Filled in by the target, for its own loops.
  llvm::SmallVector<mlir::Value> rowBuffers;  // values kept for later stages
  llvm::SmallVector<mlir::Value> tileValues;  // values without reduced dimensions that later stages read
};

struct StagePlan {
  std::vector<Stage> stages;
  static StagePlan make(const KernelGraph &graph);
};

} // namespace cleave

#endif
