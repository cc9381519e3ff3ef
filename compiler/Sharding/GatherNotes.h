// What is gathered though it is made of samples: a remark at each op that needs all of them. A step is data-parallel
// where every op lets the batch pass; one that does not costs a message and makes all ranks compute what follows for
// all.
#ifndef CLEAVE_COMPILER_SHARDING_GATHERNOTES_H
#define CLEAVE_COMPILER_SHARDING_GATHERNOTES_H

#include "compiler/Sharding/Propagation.h"

namespace cleave {

// Says of each op, once for all functions of a step: where it comes from, what it needs whole and over which axes, how
// many bytes a rank sends for it in a step. Parameters that are stored split, sums and evaluation are not told of.
void noteGathers(mlir::ModuleOp module, const Propagation &shardings);

} // namespace cleave

#endif
