// Products with a second result. The C++ of these ops is in Products.h, which few passes include.
#ifndef CLEAVE_PRODUCTOPS_TD
#define CLEAVE_PRODUCTOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_MatmulBiasGradOp : Cleave_ComputeOp<"matmul_bias_grad", [Cleave_Infer, Cleave_Cost],
                                               ["getComputeKind", "getKernelSpec", "isDecomposable", "decompose"]> {
  let summary = "the gradients of a linear layer's weight and of its bias";
  let description = [{
    lhs is [k, m], and rhs is [k, n]. The first result is lhs^T rhs, [m, n]. The second result is the sum of the rows of rhs,
    [n], or with `of_lhs` the sum of the rows of lhs, [m]. One operand is the layer's input. The other is the gradient of the
    layer's output, and its rows are added. f16 and bf16 are accumulated in f32, and each result is rounded once.
    `fuse-bias-gradients` makes this op from a product and a kernel. `decompose` gives the plain ops that define it.
    ```mlir
    %dw, %db = cleave.matmul_bias_grad %x, %dy : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>, tensor<16xf32>
    %dv, %dc = cleave.matmul_bias_grad %dz, %y {of_lhs} : tensor<8x2xf32>, tensor<8x16xf32> -> tensor<2x16xf32>, tensor<2xf32>
    ```
    Constraints:
    - Both operands have rank 2, the same element type and the same number of rows.
  }];
  let arguments = (ins Cleave_FloatTensor:$lhs, Cleave_FloatTensor:$rhs, UnitAttr:$of_lhs);
  let results = (outs Cleave_FloatTensor:$result, Cleave_FloatTensor:$bias_grad);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result) `,` type($bias_grad)";
}
#endif
