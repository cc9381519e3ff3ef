// Matrix products, convolutions and pooling, which the device's library computes.
#ifndef CLEAVE_CONTRACTIONOPS_TD
#define CLEAVE_CONTRACTIONOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

def Cleave_MatmulOp : Cleave_ComputeOp<"matmul", [Cleave_Infer, Cleave_Differentiable, Cleave_Cost],
                                       ["getComputeKind", "getKernelSpec", "isDecomposable", "decompose", "withBias"]> {
  let summary = "matrix product over equal leading batch dimensions; it may have a bias";
  let description = [{
    lhs is [batch..., m, k] (or [batch..., k, m] with transpose_lhs), and rhs is [batch..., k, n] (or [batch..., n, k] with
    transpose_rhs). If one operand has rank 2 and the other has batch dimensions, the first is used for every index of these
    dimensions. `bias` is [n], and is added to every row. f16 and bf16 are accumulated in f32, including the bias, and rounded
    once.
    ```mlir
    %0 = cleave.matmul %x, %w {transpose_rhs} : tensor<8x4xf32>, tensor<16x4xf32> -> tensor<8x16xf32>
    %1 = cleave.matmul %y, %v bias %b {transpose_rhs} : tensor<8x4xf16>, tensor<16x4xf16>, tensor<16xf16> -> tensor<8x16xf16>
    ```
    `form-epilogues` gives products their bias at the model level. If the contracted dimension is split, sharding removes the
    bias again (`decompose`), because every rank would add it.

    Constraints:
    - The operands, the bias and the result have one floating-point element type, and the operands have rank 2 or more.
    - Both operands have the same k. Their batch dimensions are equal, unless one of them has rank 2.
    - `bias` is [n].
  }];
  let arguments = (ins Cleave_FloatTensor:$lhs, Cleave_FloatTensor:$rhs, Optional<Cleave_FloatTensor>:$bias, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = [{$lhs `,` $rhs (`bias` $bias^)? attr-dict `:` type($lhs) `,` type($rhs) (`,` type($bias)^)? `->` type($result)}];
}

class Cleave_WindowOp<string mnemonic, list<Trait> traits = []>
    : Cleave_ComputeOp<mnemonic, !listconcat([Cleave_Cost], traits), ["getComputeKind", "getKernelSpec"]>;
defvar Cleave_ConvAttrs = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pad_low,
                               DenseI64ArrayAttr:$pad_high, I64Attr:$groups);

def Cleave_ConvolutionOp : Cleave_WindowOp<"convolution", [Cleave_Infer, Cleave_Differentiable]> {
  let summary = "cross-correlation: input [n, ic, in...], filter [oc, ic/groups, kernel...], result [n, oc, out...]";
  let description = [{
    Each attribute except `groups` has one number for each dimension of `in`. Group g of the filters reads group g of the
    input's channels.
    ```mlir
    %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
      pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x16x32x32xf32>
    ```

    Constraints:
    - Input and filter have one element type and one rank, 3 or more.
    - `groups` divides ic and oc; the filter has ic/groups channels.
    - `strides`, `dilations`, `pad_low` and `pad_high` have one number for each spatial dimension.
    - Strides, dilations and kernel sizes are 1 or more, and paddings are 0 or more. The dilated kernel fits into the padded
      input.
    - Strides, dilations, kernel sizes and paddings are at most 2^31 - 1.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$input, Cleave_FloatTensor:$filter), Cleave_ConvAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$input `,` $filter attr-dict `:` type($input) `,` type($filter) `->` type($result)";
}
def Cleave_ConvolutionInputGradOp : Cleave_WindowOp<"convolution_input_grad"> {
  let summary = "gradient of convolution with respect to its input, which has the result's type";
  let description = [{
    `result_grad` [n, oc, out...] is the gradient of the convolution's result, `filter` is [oc, ic/groups, kernel...], and the
    result is [n, ic, in...]. The attributes are those of the convolution.
    ```mlir
    %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
      pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x3x32x32xf32>
    ```
    Constraints:
    - A convolution of a tensor of the result's shape with the filter and these attributes has the shape of `result_grad`.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$result_grad, Cleave_FloatTensor:$filter), Cleave_ConvAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$result_grad `,` $filter attr-dict `:` type($result_grad) `,` type($filter) `->` type($result)";
  let hasVerifier = 1;
}
def Cleave_ConvolutionWeightGradOp : Cleave_WindowOp<"convolution_weight_grad"> {
  let summary = "gradient of convolution with respect to its filter, which has the result's type";
  let description = [{
    `input` is [n, ic, in...], `result_grad` [n, oc, out...] is the gradient of the convolution's result, and the result is
    [oc, ic/groups, kernel...]. The attributes are those of the convolution.
    ```mlir
    %0 = cleave.convolution_weight_grad %x, %dy {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
      pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32> -> tensor<16x3x3x3xf32>
    ```
    Constraints:
    - A convolution of `input` with a filter of the result's shape and these attributes has the shape of `result_grad`.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$input, Cleave_FloatTensor:$result_grad), Cleave_ConvAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$input `,` $result_grad attr-dict `:` type($input) `,` type($result_grad) `->` type($result)";
  let hasVerifier = 1;
}

defvar Cleave_PoolAttrs = (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                               DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high);
def Cleave_MaxPoolOp : Cleave_WindowOp<"max_pool", [Cleave_Infer, Cleave_Differentiable]> {
  let summary = "maximum over windows of [n, c, in...]; padding is never the maximum";
  let description = [{
    The operand is [n, c, in...], and the result is [n, c, out...]. Each attribute has one number for each dimension of `in`.
    For ONNX's ceil_mode the importer enlarges pad_high.
    ```mlir
    %0 = cleave.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x32x32xf32> -> tensor<8x3x16x16xf32>
    ```

    Constraints:
    - The operand has rank 3 or more.
    - `window`, `strides`, `dilations`, `pad_low` and `pad_high` have one number for each spatial dimension.
    - Windows, strides, dilations and paddings are at most 2^31 - 1.
    - Windows, strides and dilations are 1 or more, and paddings are 0 or more. The dilated window fits into the padded input.
    - Each padding is smaller than the dilated window, because a window that covers only padding has no maximum.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$input), Cleave_PoolAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Cleave_MaxPoolGradOp : Cleave_WindowOp<"max_pool_grad", [AllTypesMatch<["input", "result"]>]> {
  let summary = "gradient of max_pool: an element of result_grad is added to the first maximum of its window";
  let description = [{
    `input` [n, c, in...] is the operand of `max_pool`, `result_grad` [n, c, out...] is the gradient of its result, and the
    result has the shape of `input`. The attributes are those of `max_pool`.
    ```mlir
    %0 = cleave.max_pool_grad %x, %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x32x32xf32>, tensor<8x3x16x16xf32>
    ```
    Constraints:
    - `max_pool` of `input` with these attributes has the shape of `result_grad`.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$input, Cleave_FloatTensor:$result_grad), Cleave_PoolAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$input `,` $result_grad attr-dict `:` type($input) `,` type($result_grad)";
  let hasVerifier = 1;
}
def Cleave_AvgPoolOp : Cleave_WindowOp<"avg_pool", [Cleave_Infer, Cleave_Differentiable]> {
  let summary = "mean over windows of [n, c, in...]";
  let description = [{
    The operand is [n, c, in...], and the result is [n, c, out...]. Each attribute except `count_pad` has one number for each
    dimension of `in`. The sum of a window is divided by the number of its elements. With `count_pad`, padding counts as
    elements that are zero. Without it, padding does not count.
    ```mlir
    %0 = cleave.avg_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x32x32xf32> -> tensor<8x3x16x16xf32>
    ```

    Constraints:
    - Those of `max_pool`. A window that covers only padding has no mean.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$input, UnitAttr:$count_pad), Cleave_PoolAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}
def Cleave_AvgPoolGradOp : Cleave_WindowOp<"avg_pool_grad"> {
  let summary = "gradient of avg_pool with respect to its operand, which has the result's type";
  let description = [{
    `result_grad` [n, c, out...] is the gradient of the result of `avg_pool`, and the result [n, c, in...] has the shape of its
    operand. The attributes are those of `avg_pool`.
    ```mlir
    %0 = cleave.avg_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
      pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x16x16xf32> -> tensor<8x3x32x32xf32>
    ```
    Constraints:
    - `avg_pool` of a tensor of the result's shape with these attributes has the shape of `result_grad`.
  }];
  let arguments = !con((ins Cleave_FloatTensor:$result_grad, UnitAttr:$count_pad), Cleave_PoolAttrs);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$result_grad attr-dict `:` type($result_grad) `->` type($result)";
  let hasVerifier = 1;
}
#endif
