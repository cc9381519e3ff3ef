// Ops that read elements at indices of the same sample, or write elements at indices, and ops that make or check
// indices. Their C++ is in Scatter.h. Few passes include it, because most use only interfaces.
#ifndef CLEAVE_SCATTEROPS_TD
#define CLEAVE_SCATTEROPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

class Cleave_ScatterOp<string mnemonic>
    : Cleave_ComputeOp<mnemonic, [Cleave_Infer, Cleave_Differentiable, Cleave_Cost], ["getComputeKind", "getKernelSpec"]>;

def Cleave_PickOp : Cleave_ScatterOp<"pick"> {
  let summary = "slices of `operand` along `dim` at the indices of the same sample (ONNX GatherND, GatherElements)";
  let description = [{
    This op is `take` with a batch. Operand and indices both have the first `batch` dimensions, and the indices of sample b
    select elements of sample b of the operand. So samples may be split over ranks. The result's shape is
    operand[:dim] + indices[batch:] + operand[dim+1:]. Negative indices count from the end. An index out of range ends the run
    with an error.
    ```mlir
    %0 = cleave.pick %logits, %labels, dim = 1, batch = 1 : tensor<2x256xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
    ```
    Constraints:
    - `dim` is a dimension of the operand.
    - `batch` is from 0 to `dim`. The first `batch` dimensions of operand and indices are equal.
    - The indices are i32 or i64.
  }];
  let arguments = (ins Cleave_Tensor:$operand, Cleave_IntTensor:$indices, I64Attr:$dim, I64Attr:$batch);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` `dim` `=` $dim `,` `batch` `=` $batch attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
}

def Cleave_PutOp : Cleave_ScatterOp<"put"> {
  let summary = "`operand` with slices of `updates` put along `dim` at the indices of the same sample, in ascending order";
  let description = [{
    The updates have the type of the result of `pick` with the same operand, indices, `dim` and `batch`. Without `combine` they
    replace elements. If several updates have the same index, the last one remains. With `combine` (sum, product, max or min),
    element and update are combined, and max and min give NaN if one of them is NaN. The order does not depend on the number
    of threads. If several numbers are the maximum or the minimum, each gets an equal part of the gradient. `put_add` is for
    sums whose updates are split over ranks along the indices.
    ```mlir
    %0 = cleave.put %table, %rows, %updates, dim = 0, batch = 0 : tensor<256x8xf32>, tensor<4xi64>, tensor<4x8xf32>
    %1 = cleave.put %x, %i, %u, dim = 1, batch = 1 combine max : tensor<2x256xf32>, tensor<2x3xi64>, tensor<2x3xf32>
    ```
    Constraints:
    - Those of `pick`.
    - `updates` has the type of the result of `pick` with these operands and attributes.
    - With `combine`, the elements are floating-point numbers or signed integers, not i1.
  }];
  let arguments = (ins Cleave_Tensor:$operand, Cleave_IntTensor:$indices, Cleave_Tensor:$updates, I64Attr:$dim, I64Attr:$batch,
                       OptionalAttr<Cleave_ReduceKindAttr>:$combine);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $indices `,` $updates `,` `dim` `=` $dim `,` `batch` `=` $batch (`combine` $combine^)? attr-dict
    `:` type($operand) `,` type($indices) `,` type($updates)
  }];
  let hasVerifier = 1;
}

def Cleave_TopKOp : Cleave_ComputeOp<"top_k", [Cleave_Infer, Cleave_Cost], ["getComputeKind", "getKernelSpec"]> {
  let summary = "indices of the `count` largest (or smallest) elements along the last dimension, best first";
  let description = [{
    Of equal elements, the one with the lower index comes first. NaN is larger than every number. The op does not return the
    values. `pick` selects them by these indices, and has their gradient.
    ```mlir
    %0 = cleave.top_k %a, 2 : tensor<8x4xf32> -> tensor<8x2xi64>
    %1 = cleave.top_k %a, 2 {smallest} : tensor<8x4xf32> -> tensor<8x2xi64>
    ```
    Constraints:
    - The operand has at least one dimension.
    - `count` is from 1 to the size of the last dimension.
    - The elements are floating-point numbers or signed integers, not i1.
  }];
  let arguments = (ins Cleave_Tensor:$operand, I64Attr:$count, UnitAttr:$smallest);
  let results = (outs Cleave_IntTensor:$result);
  let assemblyFormat = "$operand `,` $count attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Cleave_CheckIndexOp : Cleave_ComputeOp<"check_index", [Cleave_Infer, Cleave_Cost], ["getComputeKind", "getKernelSpec"]> {
  let summary = "copies `operand`; the run ends with an error if an element is neither in [`first`, `end`) nor `other`";
  let description = [{
    The importer makes this op for the labels of a loss if they are computed, and the loss is lowered to comparisons. There, a
    label out of range would be equal to no class, and nobody would notice. `take`, `pick`, `put` and `put_add` check their
    indices themselves. Labels that are an input do not need this op, because the runtime checks them when it reads them
    (compiler/Import/ONNX/Operators/IndexRange.h).
    ```mlir
    %0 = cleave.check_index %labels, 0 to 10 : tensor<4xi64>
    %1 = cleave.check_index %labels, 0 to 10 or -100 : tensor<4xi64>
    ```
    Constraints:
    - `first` is smaller than `end`.
    - The elements are i32 or i64.
  }];
  let arguments = (ins Cleave_IntTensor:$operand, I64Attr:$first, I64Attr:$end, OptionalAttr<I64Attr>:$other);
  let results = (outs Cleave_IntTensor:$result);
  let assemblyFormat = "$operand `,` $first `to` $end (`or` $other^)? attr-dict `:` type($operand)";
  let hasVerifier = 1;
}
#endif
