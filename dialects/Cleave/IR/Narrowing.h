// Ops that store a tensor's elements in fewer bytes.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_NARROWING_H
#define CLEAVE_DIALECTS_CLEAVE_IR_NARROWING_H

#include "mlir/IR/Operation.h"

namespace cleave {

// True if an op makes another tensor of the same shape in fewer bytes of one tensor, such as a cast to a narrower type,
// or a kernel of one.
bool narrows(mlir::Operation *op);

} // namespace cleave

#endif
