// What must not be computed again, so that units are gathered for a short time.
//
// The backward pass may compute elementwise chains of the forward pass again, across blocks: a sum along a residual
// path needs what every block has added. Where a link of the chain reads a parameter of a gathered unit, that unit
// is whole from the chain's first use to the block's own backward pass: with many blocks, all units at once. So
// such a value may be *anchored* where it leaves its block: it is kept, or nobody needs it. It is where its bytes are
// fewer than those of the units that the chain has read since the last anchor. Resident parameters are there anyway
// and count nothing, as nothing does where parameters are stored whole.
//
//   blocks      0: x1 = x0 + s0 * f(x0)    1: x2 = x1 + s1 * f(x1)    2: x3 = ...      units of 3 kB
//   x is 1 kB   anchors x1, x2, x3: each block's backward pass begins with what it needs
//   x is 5 kB   anchors x2: two units are held, which is less than to keep x1
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_UNITANCHORS_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_UNITANCHORS_H

#include "compiler/Training/Residuals/JointFunction.h"

namespace cleave {

llvm::DenseSet<mlir::Value> findUnitAnchors(const JointFunction &joint);

} // namespace cleave

#endif
