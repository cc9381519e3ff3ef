// Reductions, and the composites that are computed with them.
#ifndef CLEAVE_REDUCTIONOPS_TD
#define CLEAVE_REDUCTIONOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_ReduceOp : Cleave_ComputeOp<"reduce", [Cleave_Infer, Cleave_Differentiable, Cleave_Cost],
                                       ["getComputeKind", "buildLinalg", "isReproducible"]> {
  let summary = "combines the elements along `dims`, which the result does not have";
  let description = [{
    f16 and bf16 are accumulated in f32. If several elements are the maximum or the minimum, each gets an equal part of the
    gradient.
    ```mlir
    %0 = cleave.reduce sum %a, [1] : tensor<8x4xf32> -> tensor<8xf32>
    ```

    Constraints:
    - `dims` increases strictly, and names dimensions of the operand.
    - The elements are floating-point numbers or signed integers, not i1.
  }];
  let arguments = (ins Cleave_ReduceKindAttr:$kind, Cleave_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$kind $operand `,` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Cleave_ArgMaxOp : Cleave_ComputeOp<"argmax", [Cleave_Infer, Cleave_Cost], ["getComputeKind", "getKernelSpec"]> {
  let summary = "index of the first maximum along `dim`, which the result does not have";
  let description = [{
    The result has the operand's shape without `dim`.
    ```mlir
    %0 = cleave.argmax %a, dim = 1 : tensor<8x4xf32> -> tensor<8xi64>
    ```

    Constraints:
    - `dim` is a dimension of the operand, and has at least one element.
    - The elements are floating-point numbers or signed integers, not i1.
  }];
  let arguments = (ins Cleave_Tensor:$operand, I64Attr:$dim);
  let results = (outs Cleave_IntTensor:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dim attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

class Cleave_SoftmaxBase<string mnemonic, string formula>
    : Cleave_ComputeOp<mnemonic, [SameOperandsAndResultType, Cleave_Differentiable, Cleave_Cost], ["getComputeKind", "decompose"]> {
  let summary = formula # " along one dimension";
  let description = "x is the operand, and max and sum are taken along `dim`. The op is a composite: `decompose-composites` replaces it by reductions and element-wise ops.\n```mlir\n%0 = cleave." #
                    mnemonic # " %x, dim = 1 : tensor<8x4xf32>\n```\nConstraints:\n- `dim` is a dimension of the operand.\n- The operand and the result have the same shape and element type.";
  let arguments = (ins Cleave_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Cleave_SoftmaxOp : Cleave_SoftmaxBase<"softmax", "e^(x - max) / sum e^(x - max)">;
def Cleave_LogSoftmaxOp : Cleave_SoftmaxBase<"log_softmax", "x - max - log sum e^(x - max)">;

def Cleave_NormalizeOp : Cleave_ComputeOp<"normalize", [Cleave_Infer, Cleave_Differentiable, Cleave_Cost], ["getComputeKind", "decompose"]> {
  let summary = "subtracts the mean and divides by the standard deviation over `dims`";
  let description = [{
    y = (x - mean) / sqrt(variance + epsilon), with the biased variance. Mean and variance are results too, without the
    dimensions `dims`, because running statistics and the gradient need them. They are f32 if the operand is f16 or bf16.
    Layer, group, instance and batch normalization are reshapes around this op. Batch normalization over `g` groups of samples
    is a reshape to [g, n/g, c, ...] and dims [1, 3].
    ```mlir
    %y, %mean, %variance = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<8x4xf32> -> tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
    ```

    Constraints:
    - `dims` names at least one dimension of the operand, and increases strictly.
    - `epsilon` is 0 or more.
  }];
  let arguments = (ins Cleave_FloatTensor:$operand, DenseI64ArrayAttr:$dims, F64Attr:$epsilon);
  let results = (outs Cleave_FloatTensor:$result, Cleave_FloatTensor:$mean, Cleave_FloatTensor:$variance);
  let assemblyFormat = "$operand `,` $dims `,` `epsilon` `=` $epsilon attr-dict `:` type($operand) `->` type(results)";
  let hasVerifier = 1;
}
#endif
