// The gradient of cleave.convolution_input_grad, which is also a layer of its own (ONNX ConvTranspose). The dialect
// attaches it when it is loaded.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_CONVOLUTIONGRADIENTS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_CONVOLUTIONGRADIENTS_H

namespace mlir {
class MLIRContext;
}

namespace cleave {

void attachConvolutionGradients(mlir::MLIRContext &context);

} // namespace cleave

#endif
