// Ops that compute nothing, and only say how gradients flow. Their C++ is in StopGradient.h, which few passes include.
#ifndef CLEAVE_GRADIENTOPS_TD
#define CLEAVE_GRADIENTOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_StopGradientOp
    : Cleave_ComputeOp<"stop_gradient", [SameOperandsAndResultType, Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "the operand, through which no gradient flows (torch.Tensor.detach)";
  let description = [{
    The importer makes this op where the file says that a gradient ends. `differentiate` removes it after it has built the
    gradients. Without training, `build-inference` removes it.
    ```mlir
    %0 = cleave.stop_gradient %target : tensor<2x3xf32>
    ```
    Constraints:
    - The operand and the result have the same floating-point type.
  }];
  let arguments = (ins Cleave_FloatTensor:$operand);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
#endif
