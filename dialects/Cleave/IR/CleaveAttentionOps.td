// Attention as one op, and its gradient. The C++ of these ops is in Attention.h, which few passes include.
#ifndef CLEAVE_ATTENTIONOPS_TD
#define CLEAVE_ATTENTIONOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

class Cleave_AttentionBase<string mnemonic, list<Trait> traits>
    : Cleave_ComputeOp<mnemonic, !listconcat([AttrSizedOperandSegments, Cleave_Infer, Cleave_Cost], traits), ["getComputeKind", "getKernelSpec", "decompose"]>;

def Cleave_RandomUniformAtOp : Cleave_ComputeOp<"random_uniform_at", [Cleave_DefaultCost]> {
  let summary = "uniform numbers in [0, 1) at given indices";
  let description = [{
    Every element is the number that `random_uniform` has at the global element index in `index`: Philox 4x32-10 with
    key = seed and counter words = (index / 4 low, high, stream low, high), result word index mod 4. `stream` has the step in
    its lower 32 bits and the site in its upper 32 bits. The op defines attention's dropout, whose kernels compute the same
    numbers.
    ```mlir
    %u = cleave.random_uniform_at %seed, %stream, %index : tensor<i64>, tensor<i64>, tensor<8x4xi64> -> tensor<8x4xf32>
    ```
    Constraints:
    - `seed` and `stream` are scalars.
    - `index` has the result's shape.
  }];
  let arguments = (ins Cleave_ScalarI64:$seed, Cleave_ScalarI64:$stream, Cleave_ScalarI64:$index);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $stream `,` $index attr-dict `:` type($seed) `,` type($stream) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def Cleave_AttentionOp : Cleave_AttentionBase<"attention", [Cleave_Differentiable]> {
  let summary = "softmax(query key^T * scale, masked) value, without the scores in memory; it may have dropout";
  let description = [{
    `query` is [batch, heads, rows, depth], `key` [batch, heads, columns, depth], `value` [batch, heads, columns, width], and the first result is
    [batch, heads, rows, width]. The scores of a row are the products of its query with all keys, times `scale`. A
    floating-point `mask` is added to the scores. If the mask is of i1, the score is `fill` where it is false. With `causal`,
    row i uses only the keys 0 to i, or all keys if there are fewer. The other results are the largest score of each row and
    the sum of e^(score - largest), both [batch, heads, rows]. From them the gradient computes the probabilities, after it has
    computed the scores again, block by block. f16 and bf16 are computed in f32. Their statistics are f32, and so is a
    floating-point mask.

    With `dropout`, a probability becomes 0 where its uniform number is below `rate`, and is divided by 1 - rate elsewhere. The
    statistics are those without dropout. The uniform number of row r and column c is the number that `random_uniform_at` has
    at the index first[batch, head] + r * columns + c. The gradient computes the same numbers again, so no mask is stored.
    `first` is the index of a head's first probability among those of all ranks and micro-batches. It is split as the heads
    are, so the op need not know where its part begins.

    `form-attention` makes the op from a product, a softmax and a product. No pass decomposes it. `decompose` gives the plain
    ops that define it.
    ```mlir
    %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.250000e-01 {causal} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>) -> (tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>)
    %d, %dm, %dl = cleave.attention %q, %k, %v dropout(%seed, %stream, %first), scale = 1.250000e-01 {causal, rate = 1.000000e-01 : f64} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<i64>, tensor<i64>, tensor<2x4xi64>)
      -> (tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>)
    ```
    Constraints:
    - Query, key and value have rank 4 and one element type, and sizes of the same name are equal.
    - The mask has rank 4. Each of its sizes is the size of the scores [batch, heads, rows, columns], or 1.
    - The mask is of i1 and there is a `fill`, or it is of the type in which scores are computed and there is no `fill`.
    - `rate` is given if, and only if, there is dropout. It is above 0 and below 1.
    - `seed`, `stream` and `first` are given together. `seed` and `stream` are scalars, and `first` is [batch, heads].
  }];
  let arguments = (ins Cleave_FloatTensor:$query, Cleave_FloatTensor:$key, Cleave_FloatTensor:$value, Optional<Cleave_Tensor>:$mask,
                       Optional<Cleave_ScalarI64>:$seed, Optional<Cleave_ScalarI64>:$stream, Optional<Cleave_ScalarI64>:$first,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$fill, UnitAttr:$causal, OptionalAttr<F64Attr>:$rate);
  let results = (outs Cleave_FloatTensor:$result, Cleave_FloatTensor:$maximum, Cleave_FloatTensor:$sum);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`dropout` `(` $seed^ `,` $stream `,` $first `)`)? `,` `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
}

def Cleave_AttentionGradOp : Cleave_AttentionBase<"attention_grad", []> {
  let summary = "gradient of attention with respect to query, key and value";
  let description = [{
    `result_grad` is the gradient of attention's first result, and `maximum` and `sum` are attention's other results. `delta` is
    the sum of result * result_grad along the last dimension, in the statistics' type. Scores are computed again, block by
    block, and are not stored. Dropout has the same operands as in attention, so it drops the same probabilities. The results
    have the types of query, key and value.
    ```mlir
    %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %l, %delta, scale = 1.250000e-01 {causal} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>,
       tensor<2x4x64xf32>) -> (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>)
    ```
    Constraints:
    - Those of `attention`.
    - `result_grad` has the type of attention's first result; `maximum`, `sum` and `delta` have the types of the others.
  }];
  let arguments = (ins Cleave_FloatTensor:$query, Cleave_FloatTensor:$key, Cleave_FloatTensor:$value, Optional<Cleave_Tensor>:$mask,
                       Optional<Cleave_ScalarI64>:$seed, Optional<Cleave_ScalarI64>:$stream, Optional<Cleave_ScalarI64>:$first,
                       Cleave_FloatTensor:$result_grad, Cleave_FloatTensor:$maximum, Cleave_FloatTensor:$sum, Cleave_FloatTensor:$delta,
                       F64Attr:$scale, OptionalAttr<F64Attr>:$fill, UnitAttr:$causal, OptionalAttr<F64Attr>:$rate);
  let results = (outs Cleave_FloatTensor:$query_grad, Cleave_FloatTensor:$key_grad, Cleave_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`dropout` `(` $seed^ `,` $stream `,` $first `)`)? `,` $result_grad `,` $maximum `,` $sum `,` $delta `,`
    `scale` `=` $scale attr-dict `:` functional-type(operands, results)
  }];
}
#endif
