// Remarks about values that are made of samples and gathered all the same. Each remark is at an op that needs all
// samples. A step is data-parallel if every op lets the batch pass through. An op that does not costs a message, and
// makes all ranks compute everything after it for all samples.
#ifndef CLEAVE_COMPILER_SHARDING_GATHERNOTES_H
#define CLEAVE_COMPILER_SHARDING_GATHERNOTES_H

#include "compiler/Sharding/Propagation.h"

namespace cleave {

// Emits a remark for each such op, once for all functions of a step. It says where the op comes from, what it needs
// whole and over which axes, and how many bytes a rank sends for it in a step. It leaves out parameters that are stored
// split, sums, and evaluation.
void noteGathers(mlir::ModuleOp module, const Propagation &shardings);

} // namespace cleave

#endif
