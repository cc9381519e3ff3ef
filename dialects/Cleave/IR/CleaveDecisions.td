// The interface of decisions: ops with floating-point results through which no gradient passes. Its C++ is in
// GradientFlow.h, which few passes include.
#ifndef CLEAVE_DECISIONS_TD
#define CLEAVE_DECISIONS_TD

include "mlir/IR/OpBase.td"

def DecisionOpInterface : OpInterface<"DecisionOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op's floating-point results are constant almost everywhere (floor, sign), or the model says that no gradient passes
    (stop_gradient). So the gradient of its operands is zero by definition, as in PyTorch. An op without a floating-point
    result (compare, argmax, a cast to integers) is a decision because of its types, and does not need the interface.
  }];
  let methods = [InterfaceMethod<
    "True if the operands have a gradient of zeros, false if they have no gradient. Weight decay changes a parameter whose gradient is zero.",
    "bool", "hasZeroGradient", (ins)>];
}

#endif
