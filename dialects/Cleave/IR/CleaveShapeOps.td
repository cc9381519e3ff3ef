// Ops that move or repeat elements, and iota. They do no arithmetic on elements.
#ifndef CLEAVE_SHAPEOPS_TD
#define CLEAVE_SHAPEOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_ReshapeOp : Cleave_ComputeOp<"reshape", [Cleave_Differentiable, Cleave_DefaultCost], Cleave_View> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    A view: the elements stay where they are in memory.
    ```mlir
    %0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<32xf32>
    ```

    Constraints:
    - The operand and the result have the same number of elements and the same element type.
  }];
  let arguments = (ins Cleave_Tensor:$operand);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_TransposeOp : Cleave_ComputeOp<"transpose", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "permutes dimensions: result dimension i is operand dimension permutation[i]";
  let description = [{
    With the permutation [1, 0], the result at (i, j) is the operand at (j, i). Dimension i of the result has the size of the
    operand's dimension permutation[i].
    ```mlir
    %0 = cleave.transpose %a, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
    ```

    Constraints:
    - `permutation` has each dimension of the operand once.
  }];
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $permutation attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Cleave_BroadcastOp : Cleave_ComputeOp<"broadcast", [Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "repeats a tensor along new dimensions: operand dimension i becomes result dimension dims[i]";
  let description = [{
    An operand dimension of size 1 is not repeated along a result dimension: a reshape must remove it first.
    ```mlir
    %0 = cleave.broadcast %bias, [1] : tensor<4xf32> -> tensor<8x4xf32>
    ```

    Constraints:
    - `dims` has one dimension of the result for each dimension of the operand, and increases strictly.
    - Each dimension of the operand has the same size as its dimension of the result.
    - The operand and the result have the same element type.
  }];
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_SliceOp : Cleave_ComputeOp<"slice", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost,
                                               DeclareOpInterfaceMethods<PositionalOpInterface, ["dependsOnOrigin"]>], Cleave_View> {
  let summary = "of every dimension `size` indices: start, start + step, ...";
  let description = [{
    The result at (i, ...) is the operand at (starts[0] + i * steps[0], ...).
    ```mlir
    %0 = cleave.slice %a, [2, 0], [4, 4], [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
    ```

    Constraints:
    - `starts`, `sizes` and `steps` have one number for each dimension of the operand.
    - Starts and sizes are 0 or more, steps 1 or more.
    - Each element that is read is in the operand.
  }];
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $starts `,` $sizes `,` $steps attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_ConcatOp :
    Cleave_ComputeOp<"concat", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost], Cleave_View> {
  let summary = "concatenation of tensors along one dimension";
  let description = [{
    The operands have equal sizes in all dimensions except `dim`. The result's size in `dim` is the sum of theirs.
    ```mlir
    %0 = cleave.concat %a, %b dim = 0 : tensor<2x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
    ```

    Constraints:
    - There is at least one operand, and `dim` is one of its dimensions.
    - The operands have the same rank and element type, and differ only in dimension `dim`.
    - The result has a size of at most 2^63 - 1 in dimension `dim`.
  }];
  let arguments = (ins Variadic<Cleave_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operands `dim` `=` $dim attr-dict `:` type($operands) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_OffloadOp : Cleave_ComputeOp<"offload", [SameOperandsAndResultType, Cleave_DefaultCost], Cleave_View> {
  let summary = "the same tensor, stored in host memory";
  let description = [{
    `offload-values` makes this op in kernels form. Planning replaces it by a copy to host memory, and by copies back to the
    device where the result's uses need it. Uses of the operand do not change. While the device still has the value, planning
    may use it there for the uses of the result too. The op has no folder: it is not an identity, although its elements are
    those of the operand.

    ```mlir
    %1 = cleave.offload %0 : tensor<512x512xf32>
    ```

    Constraints:
    - The result has the operand's type.
  }];
  let arguments = (ins Cleave_Tensor:$operand);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Cleave_PadOp : Cleave_ComputeOp<"pad", [Cleave_Infer, Cleave_Differentiable, Cleave_DefaultCost]> {
  let summary = "pads every dimension with `value`: `low` elements before, `high` after, `interior` between neighbours";
  let description = [{
    With `interior`, the op is the transpose of a slice with steps, so it computes that slice's gradient.
    ```mlir
    %0 = cleave.pad %a, [1, 0], [1, 0], [0, 0], value = 0.0 : tensor<8x4xf32> -> tensor<10x4xf32>
    ```

    Constraints:
    - `low`, `high` and `interior` have one number, 0 or more, for each dimension of the operand.
    - Each dimension of the result is smaller than 2^63.
  }];
  let arguments = (ins Cleave_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior, F64Attr:$value);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand `,` $low `,` $high `,` $interior `,` `value` `=` $value attr-dict `:` type($operand) `->` type($result)";
}

def Cleave_IotaOp : Cleave_ComputeOp<"iota", [Cleave_DefaultCost, DeclareOpInterfaceMethods<PositionalOpInterface, ["countsAlong"]>]> {
  let summary = "every element is its own index in dimension `dim`, plus origin[dim]";
  let description = [{
    The result may have any shape. `origin` is the global index of the first element that this rank makes, with one number for
    each dimension. Without it, the index starts at 0.
    ```mlir
    %0 = cleave.iota dim = 1 : tensor<8x4xi64>
    ```

    Constraints:
    - `dim` is a dimension of the result.
    - `origin` is a vector of i64 with one number for each dimension of the result.
  }];
  let arguments = (ins I64Attr:$dim, Optional<Cleave_IntTensor>:$origin);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "`dim` `=` $dim (`origin` $origin^ `:` type($origin))? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
#endif
