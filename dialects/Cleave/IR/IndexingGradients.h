// The gradient of cleave.put_add, which the dialect attaches when it is loaded. Only the backward pass makes this op,
// so nothing differentiates it. But its gradient says whether it is linear (compiler/Sharding/Linearity.h).
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_INDEXINGGRADIENTS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_INDEXINGGRADIENTS_H

namespace mlir {
class MLIRContext;
}

namespace cleave {

void attachPutAddGradient(mlir::MLIRContext &context);

} // namespace cleave

#endif
