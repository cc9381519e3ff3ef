// Ops that say something of gradients and compute nothing. Included by what names them (StopGradient.h): few passes do.
#ifndef CLEAVE_GRADIENTOPS_TD
#define CLEAVE_GRADIENTOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_StopGradientOp
    : Cleave_ComputeOp<"stop_gradient", [SameOperandsAndResultType, Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "the operand, through which no gradient flows (torch.Tensor.detach)";
  let description = [{
    Import makes it where a file says that a gradient ends; `differentiate` takes it off when gradients are built, and `build-inference` does where none are.
    ```mlir
    %0 = cleave.stop_gradient %target : tensor<2x3xf32>
    ```
    Constraints: operand and result are of one floating-point type.
  }];
  let arguments = (ins Cleave_FloatTensor:$operand);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
#endif
