// Ops that compute each element of the result from the operands' elements at the same index.
#ifndef CLEAVE_ELEMENTWISEOPS_TD
#define CLEAVE_ELEMENTWISEOPS_TD
include "dialects/Cleave/IR/CleaveElementwiseBase.td"

def Cleave_NegOp : Cleave_UnaryOp<"neg", "-x", Cleave_Tensor, [Cleave_Differentiable]> { let hasFolder = 1; }
def Cleave_AbsOp : Cleave_UnaryOp<"abs", "|x|; the gradient at 0 is 0", Cleave_Tensor, [Cleave_Differentiable]>;
def Cleave_SignOp : Cleave_UnaryOp<"sign", "sign of x: -1, 0 or 1; NaN for NaN", Cleave_Tensor, [Cleave_Differentiable]>;
def Cleave_ExpOp : Cleave_FloatUnaryOp<"exp", "e^x">;
def Cleave_Expm1Op : Cleave_FloatUnaryOp<"expm1", "e^x - 1, without cancellation near 0">;
def Cleave_LogOp : Cleave_FloatUnaryOp<"log", "natural logarithm">;
def Cleave_Log1pOp : Cleave_FloatUnaryOp<"log1p", "log(1 + x), without cancellation near 0">;
def Cleave_SqrtOp : Cleave_FloatUnaryOp<"sqrt", "square root">;
def Cleave_RsqrtOp : Cleave_FloatUnaryOp<"rsqrt", "1 / sqrt(x)">;
def Cleave_TanhOp : Cleave_FloatUnaryOp<"tanh", "hyperbolic tangent">;
def Cleave_ErfOp : Cleave_FloatUnaryOp<"erf", "error function">;
def Cleave_SigmoidOp : Cleave_FloatUnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def Cleave_SinOp : Cleave_FloatUnaryOp<"sin", "sine">;
def Cleave_CosOp : Cleave_FloatUnaryOp<"cos", "cosine">;
def Cleave_FloorOp : Cleave_FloatUnaryOp<"floor", "largest integer not above x; gradient 0">;
def Cleave_CeilOp : Cleave_FloatUnaryOp<"ceil", "smallest integer not below x; gradient 0">;
def Cleave_RoundOp : Cleave_FloatUnaryOp<"round", "nearest integer, halves to even; gradient 0">;
def Cleave_ReluOp : Cleave_FloatUnaryOp<"relu", "max(x, 0); the gradient at 0 is 0">;
def Cleave_NotOp : Cleave_UnaryOp<"not", "logical negation", Cleave_BoolTensor, [], "i1">;

class Cleave_BinaryOp<string mnemonic, string formula, Type type, list<Trait> traits = [], string element = "f32">
    : Cleave_ElementwiseOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let summary = "element-wise " # formula;
  let description = "The result at an index is computed from a = `lhs` and b = `rhs` at that index. The op does not broadcast its operands; use `cleave.broadcast` before.\n```mlir\n%0 = cleave." #
                    mnemonic # " %x, %y : tensor<8x4x" # element # ">\n```\nConstraints:\n- The operands and the result have the same shape and element type.";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Cleave_AddOp : Cleave_BinaryOp<"add", "a + b", Cleave_Tensor, [Commutative, Cleave_Differentiable]> { let hasFolder = 1; }
def Cleave_SubOp : Cleave_BinaryOp<"sub", "a - b", Cleave_Tensor, [Cleave_Differentiable]> { let hasFolder = 1; }
def Cleave_MulOp : Cleave_BinaryOp<"mul", "a * b", Cleave_Tensor, [Commutative, Cleave_Differentiable]> { let hasFolder = 1; }
def Cleave_DivOp : Cleave_BinaryOp<"div", "a / b; integers truncate, division by zero gives 0", Cleave_Tensor, [Cleave_Differentiable]> { let hasFolder = 1; }
def Cleave_PowOp : Cleave_BinaryOp<"pow", "a^b", Cleave_FloatTensor, [Cleave_Differentiable]>;
def Cleave_MaxOp : Cleave_BinaryOp<"max", "max(a, b); NaN if either is NaN; if both are equal, each gets half of the gradient", Cleave_Tensor, [Cleave_Differentiable]>;
def Cleave_MinOp : Cleave_BinaryOp<"min", "min(a, b); NaN if either is NaN; if both are equal, each gets half of the gradient", Cleave_Tensor, [Cleave_Differentiable]>;
def Cleave_RemOp : Cleave_BinaryOp<"rem", "remainder with the sign of a (C fmod, %); 0 for integers if b is 0", Cleave_Tensor>;
def Cleave_AndOp : Cleave_BinaryOp<"and", "logical or bitwise and", Cleave_IntTensor, [Commutative], "i1">;
def Cleave_OrOp : Cleave_BinaryOp<"or", "logical or bitwise or", Cleave_IntTensor, [Commutative], "i1">;
def Cleave_XorOp : Cleave_BinaryOp<"xor", "logical or bitwise exclusive or", Cleave_IntTensor, [Commutative], "i1">;

def Cleave_CompareOp : Cleave_ElementwiseOp<"compare", [SameTypeOperands, SameOperandsAndResultShape, Cleave_Infer]> {
  let summary = "element-wise comparison";
  let description = [{
    The operands have the same type. The result has their shape, and elements of type i1.
    ```mlir
    %0 = cleave.compare lt %a, %b : tensor<4xf32>
    ```

    Constraints:
    - The operands have the same shape and element type; the result has their shape and i1 elements.
  }];
  let arguments = (ins Cleave_PredicateAttr:$predicate, Cleave_Tensor:$lhs, Cleave_Tensor:$rhs);
  let results = (outs Cleave_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
}

def Cleave_SelectOp : Cleave_ElementwiseOp<"select", [AllTypesMatch<["on_true", "on_false", "result"]>,
    AllShapesMatch<["condition", "result"]>, Cleave_Infer, Cleave_Differentiable]> {
  let summary = "element-wise choice between two values";
  let description = [{
    An element of the result is the element of `on_true` where `condition` is true, and the element of `on_false` elsewhere.
    ```mlir
    %0 = cleave.select %c, %a, %b : tensor<4xi1>, tensor<4xf32>
    ```

    Constraints:
    - The operands and the result have the same shape.
    - `on_true`, `on_false` and the result have the same element type; `condition` is i1.
  }];
  let arguments = (ins Cleave_BoolTensor:$condition, Cleave_Tensor:$on_true, Cleave_Tensor:$on_false);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
}

def Cleave_CastOp : Cleave_ElementwiseOp<"cast", [SameOperandsAndResultShape, Cleave_Differentiable]> {
  let summary = "element-wise conversion to another element type";
  let description = [{
    From floating point to integer, the number is truncated and saturated. To i1, a number other than zero becomes true. To a
    narrower floating-point type, the number is rounded to nearest, ties to even.
    ```mlir
    %0 = cleave.cast %a : tensor<4xi64> -> tensor<4xf32>
    ```

    Constraints:
    - The operand and the result have the same shape.
  }];
  let arguments = (ins Cleave_Tensor:$operand);
  let results = (outs Cleave_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Cleave_RandomUniformOp : Cleave_ComputeOp<"random_uniform", [Cleave_DefaultCost, Cleave_Positional]> {
  let summary = "uniform numbers in [0, 1) that depend only on (seed, step, site) and the global element index";
  let description = [{
    The numbers are Philox 4x32-10 (Salmon et al. 2011): key = seed, counter words = (element index / 4 low, high, step, site),
    result word index mod 4. The upper 24 bits of this word become the fraction (11 bits for f16 and 8 for bf16, as many as
    the type holds). The backward pass can compute the same numbers again, so masks are never stored. `global_shape` is the
    shape of the whole tensor. `origin`, if it is given, is the global index of the first element that this op makes.
    ```mlir
    %u = cleave.random_uniform %seed, %step {site = 3 : i64, global_shape = array<i64: 8, 4>} : tensor<i64>, tensor<i64> -> tensor<8x4xf32>
    ```

    Constraints:
    - `seed` and `step` are scalars of type i64.
    - `global_shape` has one size for each dimension of the result.
    - Without `origin` the result has the shape `global_shape`; with it, the result is no larger in any dimension.
    - `origin` is a vector of i64 with one number for each dimension of the result.
  }];
  let arguments = (ins Cleave_ScalarI64:$seed, Cleave_ScalarI64:$step, Optional<Cleave_IntTensor>:$origin, I64Attr:$site,
                       DenseI64ArrayAttr:$global_shape);
  let results = (outs Cleave_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $step (`origin` $origin^ `:` type($origin))? attr-dict `:` type($seed) `,` type($step) `->` type($result)";
  let hasVerifier = 1;
}
#endif
