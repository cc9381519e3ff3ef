// The gradient of cleave.rem, which is also an op of integers. The dialect attaches it when it is loaded.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ELEMENTWISEGRADIENTS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ELEMENTWISEGRADIENTS_H

namespace mlir {
class MLIRContext;
}

namespace cleave {

void attachElementwiseGradients(mlir::MLIRContext &context);

} // namespace cleave

#endif
