// The interface of decisions among the ops with floating-point results. Included by GradientFlow.h, which few passes
// do.
#ifndef CLEAVE_DECISIONS_TD
#define CLEAVE_DECISIONS_TD

include "mlir/IR/OpBase.td"

def DecisionOpInterface : OpInterface<"DecisionOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op's floating-point results are constant almost everywhere (floor, sign), or the model says that no gradient passes
    (stop_gradient): the gradient of its operands is zero by definition, as in PyTorch. An op without a floating-point result
    (compare, argmax, a cast to integers) is a decision by its types and needs no such word.
  }];
  let methods = [InterfaceMethod<
    "Whether the operands have a gradient, which is zero, and not none. An optimizer decays a parameter whose gradient is zero.",
    "bool", "hasZeroGradient", (ins)>];
}

#endif
