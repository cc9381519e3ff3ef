// Elements that each sample names itself, and putting elements where indices say. Included by what names these ops
// (Scatter.h), which few passes do: most ask for interfaces.
#ifndef CLEAVE_SCATTEROPS_TD
#define CLEAVE_SCATTEROPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

class Cleave_ScatterOp<string mnemonic>
    : Cleave_ComputeOp<mnemonic, [Cleave_Infer, Cleave_Differentiable, Cleave_Cost], ["getComputeKind", "getKernelSpec"]>;

def Cleave_PickOp : Cleave_ScatterOp<"pick"> {
  let summary = "slices of `operand` along `dim` at the indices of the same sample (ONNX GatherND, GatherElements)";
  let description = [{
    `take` with a batch: the first `batch` dimensions belong to operand and indices, sample b is indexed by the indices of sample b, and ranks may
    share the samples. The result's shape is operand[:dim] + indices[batch:] + operand[dim+1:]. Negative indices count from the end. An index out of
    range ends the run with an error.
    ```mlir
    %0 = cleave.pick %logits, %labels, dim = 1, batch = 1 : tensor<2x256xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
    ```
    Constraints: `dim` is a dimension of the operand; `batch` lies in [0, dim] and counts dimensions that are equal in operand and indices; the
    indices are i32 or i64.
  }];
  let arguments = (ins Cleave_Tensor:$operand, Cleave_IntTensor:$indices, I64Attr:$dim, I64Attr:$batch);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `,` `dim` `=` $dim `,` `batch` `=` $batch attr-dict `:` type($operand) `,` type($indices) `->` type($result)";
}

def Cleave_PutOp : Cleave_ScatterOp<"put"> {
  let summary = "`operand` with slices of `updates` put along `dim` at the indices of the same sample, in ascending order";
  let description = [{
    The updates have the type of what `pick` would pick. Without `combine` they replace: of several updates with one index the last one stays.
    With `combine` sum, product, max or min, element and update are combined; NaN wins over numbers. The order is fixed, whatever the number of threads.
    The gradient of max and min is split evenly among equal elements. `put_add` is for sums whose updates ranks share out along the indices.
    ```mlir
    %0 = cleave.put %table, %rows, %updates, dim = 0, batch = 0 : tensor<256x8xf32>, tensor<4xi64>, tensor<4x8xf32>
    %1 = cleave.put %x, %i, %u, dim = 1, batch = 1 combine max : tensor<2x256xf32>, tensor<2x3xi64>, tensor<2x3xf32>
    ```
    Constraints: those of `pick`; what is combined are numbers.
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
    Of equal elements the one with the lower index comes first. NaN is larger than every number. The values are picked with these indices, so that their
    gradient is that of `pick`.
    ```mlir
    %0 = cleave.top_k %a, 2 : tensor<8x4xf32> -> tensor<8x2xi64>
    %1 = cleave.top_k %a, 2 {smallest} : tensor<8x4xf32> -> tensor<8x2xi64>
    ```
    Constraints: the operand has a last dimension; `count` lies between 1 and its size; the elements are numbers.
  }];
  let arguments = (ins Cleave_Tensor:$operand, I64Attr:$count, UnitAttr:$smallest);
  let results = (outs Cleave_IntTensor:$result);
  let assemblyFormat = "$operand `,` $count attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Cleave_CheckIndexOp : Cleave_ComputeOp<"check_index", [Cleave_Infer, Cleave_Cost], ["getComputeKind", "getKernelSpec"]> {
  let summary = "`operand`, whose elements are from `first` to `end` - 1, or `other`; the run ends with an error where one is not";
  let description = [{
    The importer makes it where an operator takes computed numbers for classes and is lowered to comparisons, in which a number out of range would
    silently pick nothing: the labels of a loss. `take`, `pick`, `put` and `put_add` check their indices themselves. Numbers of an input need no such op:
    the runtime checks them where it reads them (compiler/Import/ONNX/Operators/IndexRange.h).
    ```mlir
    %0 = cleave.check_index %labels, 0 to 10 : tensor<4xi64>
    %1 = cleave.check_index %labels, 0 to 10 or -100 : tensor<4xi64>
    ```
    Constraints: `first` is smaller than `end`; the elements are i32 or i64.
  }];
  let arguments = (ins Cleave_IntTensor:$operand, I64Attr:$first, I64Attr:$end, OptionalAttr<I64Attr>:$other);
  let results = (outs Cleave_IntTensor:$result);
  let assemblyFormat = "$operand `,` $first `to` $end (`or` $other^)? attr-dict `:` type($operand)";
  let hasVerifier = 1;
}
#endif
