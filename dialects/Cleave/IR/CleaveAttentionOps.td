// Attention as one op, and its gradient. Included by what names these ops (Attention.h), which few passes do.
#ifndef CLEAVE_ATTENTIONOPS_TD
#define CLEAVE_ATTENTIONOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

class Cleave_AttentionBase<string mnemonic, list<Trait> traits>
    : Cleave_ComputeOp<mnemonic, !listconcat([Cleave_Infer, Cleave_Cost], traits), ["getComputeKind", "getKernelSpec", "decompose"]>;

def Cleave_AttentionOp : Cleave_AttentionBase<"attention", [Cleave_Differentiable]> {
  let summary = "softmax(query key^T * scale, masked) value, without the scores in memory";
  let description = [{
    `query` is [batch, heads, rows, depth], `key` [batch, heads, columns, depth], `value` [batch, heads, columns, width], and the first result is
    [batch, heads, rows, width]. The scores of a row are the products of its query with all keys, times `scale`. A floating-point `mask` is added to the
    scores; where a mask of i1 is false, the score is `fill`. With `causal`, row i has the keys 0 to i alone, as many as there are. The other results are
    the largest score of each row and the sum of e^(score - largest), both [batch, heads, rows]: the gradient computes the scores again, block by block,
    and makes the probabilities of them. f16 and bf16 are computed in f32; their statistics and their mask are f32.

    `form-attention` makes it of a product, a softmax and a product; no pass takes it apart. `decompose` gives the plain ops that define it.
    ```mlir
    %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.250000e-01 {causal} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>) -> (tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>)
    ```
    Constraints:
    - Query, key and value have rank 4, one element type, and agree in batch, heads, and where a size has one name above.
    - The mask has rank 4, and each of its sizes is that of the scores [batch, heads, rows, columns] or 1.
    - A mask is of i1 with a `fill`, or of the type that scores are computed in without one.
  }];
  let arguments = (ins Cleave_FloatTensor:$query, Cleave_FloatTensor:$key, Cleave_FloatTensor:$value, Optional<Cleave_Tensor>:$mask,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$fill, UnitAttr:$causal);
  let results = (outs Cleave_FloatTensor:$result, Cleave_FloatTensor:$maximum, Cleave_FloatTensor:$sum);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `,` `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
}

def Cleave_AttentionGradOp : Cleave_AttentionBase<"attention_grad", []> {
  let summary = "gradient of attention with respect to query, key and value";
  let description = [{
    `result_grad` is the gradient of attention's first result, `maximum` and `sum` are its other results, and `delta` is the sum of result * result_grad
    along the last dimension, in the statistics' type. Scores are computed again by blocks; none is kept. The results have the types of query, key and
    value.
    ```mlir
    %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %l, %delta, scale = 1.250000e-01 {causal} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>,
       tensor<2x4x64xf32>) -> (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>)
    ```
    Constraints: those of attention; result_grad, maximum, sum and delta have the types that attention's results have.
  }];
  let arguments = (ins Cleave_FloatTensor:$query, Cleave_FloatTensor:$key, Cleave_FloatTensor:$value, Optional<Cleave_Tensor>:$mask,
                       Cleave_FloatTensor:$result_grad, Cleave_FloatTensor:$maximum, Cleave_FloatTensor:$sum, Cleave_FloatTensor:$delta,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$fill, UnitAttr:$causal);
  let results = (outs Cleave_FloatTensor:$query_grad, Cleave_FloatTensor:$key_grad, Cleave_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `,` $result_grad `,` $maximum `,` $sum `,` $delta `,` `scale` `=` $scale attr-dict
    `:` functional-type(operands, results)
  }];
}
#endif
