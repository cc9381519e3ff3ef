// Chooses values that must not be computed again, so that units are gathered for a short time only.
//
// The backward pass may compute elementwise chains of the forward pass again, across blocks: a sum along a residual
// path needs the values that all earlier blocks have added. If an op of the chain reads a parameter of a gathered unit,
// that unit stays whole from the chain's first use until the backward pass of the unit's own block. With many blocks,
// all units would be whole at once. So such a value may be *anchored* where it leaves its block. It is then kept, if it
// is needed at all. A value is anchored if it does not have more bytes than the units that the chain has read since the
// last anchor. Resident parameters do not count, because they are whole anyway. The same is true of all parameters if
// none is sharded.
//
//   blocks      0: x1 = x0 + s0 * f(x0)    1: x2 = x1 + s1 * f(x1)    2: x3 = ...      units of 3 kB
//   x is 1 kB   anchors x1, x2, x3: each block's backward pass begins with the value that it needs
//   x is 5 kB   anchors x2: two units are held, which costs less than keeping x1
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_UNITANCHORS_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_UNITANCHORS_H

#include "compiler/Training/Residuals/JointFunction.h"

namespace cleave {

llvm::DenseSet<mlir::Value> findUnitAnchors(const JointFunction &joint);

} // namespace cleave

#endif
