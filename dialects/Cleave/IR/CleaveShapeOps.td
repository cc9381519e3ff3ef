// Moving elements without computing.
#ifndef CLEAVE_SHAPEOPS_TD
#define CLEAVE_SHAPEOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_ReshapeOp : Cleave_ComputeOp<"reshape", [Cleave_Differentiable, Cleave_DefaultCost], Cleave_View> {
  let summary = "the same elements in row-major order under another shape";
  let description = "The result has as many elements as the operand.\n```mlir\n%0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<32xf32>\n```";
  let arguments = (ins Cleave_Tensor:$operand);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_TransposeOp : Cleave_ComputeOp<"transpose", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "permutes dimensions: result dimension i is operand dimension permutation[i]";
  let description = "The operand may have any shape, and `permutation` has each of its dimensions once.\n```mlir\n%0 = cleave.transpose %a, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>\n```";
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $permutation attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Cleave_BroadcastOp : Cleave_ComputeOp<"broadcast", [Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "repeats a tensor along new dimensions: operand dimension i becomes result dimension dims[i]";
  let description = [{
    `dims` increases strictly. Every operand dimension equals the result's; a dimension of size 1 is dropped by a reshape first.
    ```mlir
    %0 = cleave.broadcast %bias, [1] : tensor<4xf32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_SliceOp : Cleave_ComputeOp<"slice", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost,
                                               DeclareOpInterfaceMethods<PositionalOpInterface, ["dependsOnOrigin"]>], Cleave_View> {
  let summary = "elements start, start + step, ... of every dimension, `size` of them";
  let description = "Steps are positive, and every element lies in the operand.\n```mlir\n%0 = cleave.slice %a, [2, 0], [4, 4], [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>\n```";
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $starts `,` $sizes `,` $steps attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_ConcatOp :
    Cleave_ComputeOp<"concat", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost], Cleave_View> {
  let summary = "tensors laid end to end along one dimension";
  let description = "The operands agree in all dimensions but `dim`. The result's `dim` is the sum of theirs.\n```mlir\n%0 = cleave.concat %a, %b dim = 0 : tensor<2x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>\n```";
  let arguments = (ins Variadic<Cleave_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operands `dim` `=` $dim attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_OffloadOp : Cleave_ComputeOp<"offload", [SameOperandsAndResultType, Cleave_DefaultCost], Cleave_View> {
  let summary = "the same tensor, stored in host memory";
  let description = [{
    Made by `offload-values`, in the kernels form; planning makes of it a copy to host memory, and copies back where its uses need the
    value on the device. What uses the operand is not concerned. Planning may use the device's copy for both, as long as it is there.
    No folder: it is no identity, though its elements are the operand's.

    ```mlir
    %1 = cleave.offload %0 : tensor<512x512xf32>
    ```

    Constraints: the result has the operand's type.
  }];
  let arguments = (ins Cleave_Tensor:$operand);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Cleave_PadOp : Cleave_ComputeOp<"pad", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "adds `low` and `high` elements of `value` around every dimension, `interior` between neighbours";
  let description = [{
    With `interior` it is the transpose of a strided slice.
    ```mlir
    %0 = cleave.pad %a, [1, 0], [1, 0], [0, 0], value = 0.0 : tensor<8x4xf32> -> tensor<10x4xf32>
    ```
  }];
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior, F64Attr:$value);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $low `,` $high `,` $interior `,` `value` `=` $value attr-dict `:` type($operand) `->` type($result)";
}

def Cleave_IotaOp : Cleave_ComputeOp<"iota", [Cleave_DefaultCost, Cleave_Positional]> {
  let summary = "every element is its index along `dim` (plus origin[dim])";
  let description = "The result may have any shape. `origin` has one number for each dimension: the global index of the first element that this rank makes.\n```mlir\n%0 = cleave.iota dim = 1 : tensor<8x4xi64>\n```";
  let arguments = (ins I64Attr:$dim, Optional<Cleave_IntTensor>:$origin);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "`dim` `=` $dim (`origin` $origin^ `:` type($origin))? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
#endif
