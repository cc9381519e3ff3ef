// Ops that keep a tensor's elements in fewer bytes.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_NARROWING_H
#define CLEAVE_DIALECTS_CLEAVE_IR_NARROWING_H

#include "mlir/IR/Operation.h"

namespace cleave {

// Whether an op makes of one tensor another of its shape in fewer bytes, as a cast to a narrower type does, or a kernel
// of one.
bool narrows(mlir::Operation *op);

} // namespace cleave

#endif
