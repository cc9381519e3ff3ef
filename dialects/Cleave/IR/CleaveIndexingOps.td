// Ops that read rows, or add to rows, that an index tensor names.
#ifndef CLEAVE_INDEXINGOPS_TD
#define CLEAVE_INDEXINGOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_TakeOp : Cleave_ComputeOp<"take", [Cleave_Infer, Cleave_Differentiable, Cleave_Cost], ["getComputeKind", "getKernelSpec"]> {
  let summary = "slices of `operand` along `dim` at the given indices (ONNX Gather)";
  let description = [{
    The result's shape is operand[:dim] + indices + operand[dim+1:]. Negative indices count from the end.
    ```mlir
    %0 = cleave.take %table, %tokens, dim = 0 : tensor<256x8xf32>, tensor<2x4xi64> -> tensor<2x4x8xf32>
    ```

    Constraints:
    - `dim` is a dimension of the operand.
    - The indices are i32 or i64.
  }];
  let arguments = (ins Cleave_Tensor:$operand, Cleave_IntTensor:$indices, I64Attr:$dim);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` `dim` `=` $dim attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
}
def Cleave_PutAddOp : Cleave_ComputeOp<"put_add", [Cleave_Infer, Cleave_Cost], ["getComputeKind", "getKernelSpec"]> {
  let summary = "`operand` with slices of `updates` added along `dim` at the given indices, in ascending order";
  let description = [{
    This op computes the gradient of `cleave.take`. `updates` has the shape operand[:dim] + indices + operand[dim+1:], and the
    result has the operand's type. Negative indices count from the end. Several updates of one slice are added in the order of
    `indices`.
    ```mlir
    %0 = cleave.put_add %table, %tokens, %rows, dim = 0 : tensor<256x8xf32>, tensor<2x4xi64>, tensor<2x4x8xf32>
    ```

    Constraints:
    - Those of `take` for the operand and the indices.
    - `updates` has the type of the result of `take` with these operands and this `dim`.
    - The elements are numbers, not i1.
  }];
  let arguments = (ins Cleave_Tensor:$operand, Cleave_IntTensor:$indices, Cleave_Tensor:$updates, I64Attr:$dim);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` $updates `,` `dim` `=` $dim attr-dict `:` type($operand) `,` type($indices) `,` type($updates)";
  let hasVerifier = 1;
}
#endif
