// The gradient of cleave.put_add, which the dialect attaches when it is loaded: ops that only the backward pass makes
// are differentiated by nobody, and asked all the same whether they are linear (compiler/Sharding/Linearity.h).
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_INDEXINGGRADIENTS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_INDEXINGGRADIENTS_H

namespace mlir {
class MLIRContext;
}

namespace cleave {

void attachPutAddGradient(mlir::MLIRContext &context);

} // namespace cleave

#endif
