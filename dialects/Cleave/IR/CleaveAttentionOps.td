// Attention as one op, and its gradient. Included by what names these ops (Attention.h), which few passes do.
#ifndef CLEAVE_ATTENTIONOPS_TD
#define CLEAVE_ATTENTIONOPS_TD
include "dialects/Cleave/IR/CleaveOpBase.td"

class Cleave_AttentionBase<string mnemonic, list<Trait> traits>
    : Cleave_ComputeOp<mnemonic, !listconcat([AttrSizedOperandSegments, Cleave_Infer, Cleave_Cost], traits), ["getComputeKind", "getKernelSpec", "decompose"]>;

def Cleave_RandomUniformAtOp : Cleave_ComputeOp<"random_uniform_at", [Cleave_DefaultCost]> {
  let summary = "uniform numbers in [0, 1) at given indices";
  let description = [{
    Every element is what `random_uniform` has at the global element index that `index` says: Philox 4x32-10 with key = seed and counter words = (index / 4 low, high, stream low, high),
    result word index mod 4. `stream` is the step in its lower 32 bits and the site in its upper ones. It defines attention's dropout, whose kernels compute the same numbers.
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
  let summary = "softmax(query key^T * scale, masked) value, with dropout or without, without the scores in memory";
  let description = [{
    `query` is [batch, heads, rows, depth], `key` [batch, heads, columns, depth], `value` [batch, heads, columns, width], and the first result is
    [batch, heads, rows, width]. The scores of a row are the products of its query with all keys, times `scale`. A floating-point `mask` is added to the
    scores; where a mask of i1 is false, the score is `fill`. With `causal`, row i has the keys 0 to i alone, as many as there are. The other results are
    the largest score of each row and the sum of e^(score - largest), both [batch, heads, rows]: the gradient computes the scores again, block by block,
    and makes the probabilities of them. f16 and bf16 are computed in f32; their statistics and their mask are f32.

    With `dropout`, a probability becomes 0 where its uniform number is below `rate`, and elsewhere is divided by 1 - rate. The statistics are those without dropout.
    The uniform number of row r and column c is that of `random_uniform_at` at the index first[batch, head] + r * columns + c. The gradient makes the same numbers again;
    no mask is stored. `first` says where the probabilities of a head lie among those of all ranks and micro-batches: it is split as the heads are, and the op need not know where its
    part begins.

    `form-attention` makes it of a product, a softmax and a product; no pass takes it apart. `decompose` gives the plain ops that define it.
    ```mlir
    %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.250000e-01 {causal} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>) -> (tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>)
    %d, %dm, %dl = cleave.attention %q, %k, %v dropout(%seed, %stream, %first), scale = 1.250000e-01 {causal, rate = 1.000000e-01 : f64} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<i64>, tensor<i64>, tensor<2x4xi64>)
      -> (tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>)
    ```
    Constraints:
    - Query, key and value have rank 4, one element type, and agree in batch, heads, and where a size has one name above.
    - The mask has rank 4, and each of its sizes is that of the scores [batch, heads, rows, columns] or 1.
    - A mask is of i1 with a `fill`, or of the type that scores are computed in without one.
    - `rate` is there with dropout alone. It is above 0 and below 1.
    - `seed`, `stream` and `first` are there together. `seed` and `stream` are scalars, and `first` is [batch, heads].
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
    `result_grad` is the gradient of attention's first result, `maximum` and `sum` are its other results, and `delta` is the sum of result * result_grad
    along the last dimension, in the statistics' type. Scores are computed again by blocks; none is kept. Dropout has attention's own operands, so that it drops the same
    probabilities. The results have the types of query, key and value.
    ```mlir
    %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %l, %delta, scale = 1.250000e-01 {causal} :
      (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64xf32>, tensor<2x4x64xf32>,
       tensor<2x4x64xf32>) -> (tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>)
    ```
    Constraints: those of attention; result_grad, maximum, sum and delta have the types that attention's results have.
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
