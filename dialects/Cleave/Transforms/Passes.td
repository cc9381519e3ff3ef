// Passes that work only on the `cleave` dialect: rewrites of patterns of ops, checks of the levels' normal forms, and
// the executable reference.
#ifndef CLEAVE_TRANSFORMS_PASSES_TD
#define CLEAVE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"decompose-composites", "::mlir::func::FuncOp"> {
  let summary = "replace composite ops (softmax, log_softmax, normalize) by fusible ones";
  let description = [{
    Runs after differentiation, which uses the composites' own gradients, and before kernels are formed.
    - Precondition: any level.
    - Effect: every op whose compute kind is `Composite` is replaced by the ops that its `decompose` builds, until there is no
      such op.
    - Postcondition: the function has no composite op.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FormEpilogues : Pass<"form-epilogues", "::mlir::func::FuncOp"> {
  let summary = "add a bias inside of the product, before its result is rounded";
  let description = [{
    - Precondition: model level, before precision is applied and before differentiation. Then the backward pass keeps the
      product with the bias, or computes it again, and one kernel computes it.
    - Effect: if a vector, repeated along the last dimension, is added to a kernel's result of 16 bits that has no other use,
      the kernel adds it (`withBias`), if it can. Reshapes between kernel and addition that keep the last dimension are moved
      after the kernel. An addition to a wider result stays as it is, unless `narrowed` says that the result will be rounded
      to 16 bits. In f32 both ways give the same numbers, and the addition is cheaper in the kernel that comes after the
      product (dialects/Cleave/IR/Rationale.md, "A bias is part of its product").
    ```mlir
    %p = cleave.matmul %x, %w : tensor<8x4xf16>, tensor<4x16xf16> -> tensor<8x16xf16>
    %b = cleave.broadcast %bias, [1] : tensor<16xf16> -> tensor<8x16xf16>                 =>    %y = cleave.matmul %x, %w bias %bias : tensor<8x4xf16>, tensor<4x16xf16>,
    %y = cleave.add %p, %b : tensor<8x16xf16>                                                          tensor<16xf16> -> tensor<8x16xf16>
    ```
  }];
  let options = [Option<"narrowed", "narrowed", "bool", "false", "do this for results of f32 too, which will be rounded to 16 bits">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FormAttention : Pass<"form-attention", "::mlir::ModuleOp"> {
  let summary = "replace a product, a softmax and a product by one op, if the scores have no other use";
  let description = [{
    - Precondition: model level, after precision is applied, because a product's type is then final, and before
      differentiation, which uses attention's own gradient. With dropout, it must run after `shift-random-origins`.
    - Effect: `softmax(scores) value` becomes `cleave.attention`. The scores are a product of queries and keys. They may be
      scaled by a number, masks may be added to them or selected instead of them, and there may be casts between
      floating-point types. Each of these values must have only one use. A mask that gives row i the columns 0 to i becomes
      `causal`. Dropout of the probabilities (`select(uniform >= rate, p / (1 - rate), 0)`) becomes the op's own dropout. It
      uses the same random numbers; an index for each head says which (AttentionDropout.h).
    - Not replaced: products of other ranks than 2 to 4; softmax over another dimension, or in f64 of narrower products (ONNX
      `softmax_precision`), because the op would compute in f32; a mask that is applied before the scale; masks of both kinds
      at once; a mask that is computed from a parameter (learned relative positions), because its gradient needs all scores in
      any case; and anything else between softmax and the second product.
    - Postcondition: no function has the scores of a replaced attention as a value. Constants that no function reads any more
      (causal masks) are removed.
    ```mlir
    %s = cleave.matmul %q, %k {transpose_rhs} : ...
    %d = cleave.div %s, %four : ...
    %p = cleave.softmax %d, dim = 3 : ...                   =>    %y, %m, %l = cleave.attention %q, %k, %v, scale = 2.500000e-01 : ...
    %y = cleave.matmul %p, %v : ...
    ```
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def PadProducts : Pass<"pad-products", "::mlir::func::FuncOp"> {
  let summary = "give large products of 16 bits rows that begin at aligned addresses";
  let description = [{
    - Precondition: model level, after types are chosen (`apply-precision`), and before differentiation, so that its products
      have padded shapes too.
    - Effect: if the last dimension of a large product's result, or its contracted dimension, is not a multiple of `multiple`,
      the operands are padded with zeros, and the result is sliced. A reshape of the result that keeps its last dimension
      stays before the slice. The fastest kernels of a library need aligned rows: on a GPU, a product of bf16 for a vocabulary
      of 50257 takes five times as long without padding.
    ```mlir
                                                                                 %v = cleave.pad %w, [0, 0], [0, 7], [0, 0], value = 0.0 : tensor<768x50257xbf16> -> tensor<768x50264xbf16>
    %y = cleave.matmul %x, %w : tensor<8192x768xbf16>, tensor<768x50257xbf16> => %p = cleave.matmul %x, %v : tensor<8192x768xbf16>, tensor<768x50264xbf16> -> tensor<8192x50264xbf16>
      -> tensor<8192x50257xbf16>                                                 %y = cleave.slice %p, [0, 0], [8192, 50257], [1, 1] : tensor<8192x50264xbf16> -> tensor<8192x50257xbf16>
    ```
  }];
  let options = [Option<"multiple", "multiple", "int64_t", "1", "the number of elements in a row becomes a multiple of this; 1: no padding">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def JoinMoves : Pass<"join-moves", "::mlir::ModuleOp"> {
  let summary = "bring slices, transposes, concatenations and sums together, if only a reshape is between them";
  let description = [{
    A reshape is not a part of a kernel, so the ops on its two sides pass over memory twice.
    - Precondition: step level, or model level after the passes that look for patterns of ops (`form-attention`). Before
      sharding, because a reshape to a part states the type of the whole.
    - Effect: a reshape is moved up over a slice, and down over a transpose, a concatenation or a reduction. This is done only
      if the reshape merges or splits dimensions that the other op keeps together, and if it joins ops that were separate.
      Two transposes with a reshape between them become one. The arithmetic stays the same: reductions keep their loops. A
      dimension that has as many indices as an input has samples (`cleave.batch_dim`) is not merged with one outside of it,
      because ranks have different samples.
    ```mlir
    %s = cleave.slice %x, [0, 0, 4], [8, 6, 4], [1, 1, 1] : ...     %r = cleave.reshape %x : tensor<8x6x12xf32> -> tensor<8x6x6x2xf32>
    %r = cleave.reshape %s : ... -> tensor<8x6x2x2xf32>          => %s = cleave.slice %r, [0, 0, 2, 0], [8, 6, 2, 2], [1, 1, 1, 1] : ...
    %t = cleave.transpose %r, [0, 2, 1, 3] : ...                    %t = cleave.transpose %s, [0, 2, 1, 3] : ...
    ```
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def SinkCasts : Pass<"sink-casts", "::mlir::func::FuncOp"> {
  let summary = "cast rows of a stored table to a narrower type after they are taken, not the whole table before";
  let description = [{
    - Precondition: any level. It is useful after sharding, when it is known which states are stored in parts and gathered.
    - Effect: the cast of a state to a narrower type is moved after a kernel, if this kernel is its only use and takes some of
      the elements without arithmetic (a look-up in a frozen embedding). The values are the same.
    ```mlir
    %t = cleave.read @table : tensor<1000x8xf32>
    %n = cleave.cast %t : tensor<1000x8xf32> -> tensor<1000x8xbf16>                =>    %r = cleave.take %t, %i, dim = 0 : ... -> tensor<6x8xf32>
    %r = cleave.take %n, %i, dim = 0 : ... -> tensor<6x8xbf16>                           %n = cleave.cast %r : tensor<6x8xf32> -> tensor<6x8xbf16>
    ```
    A cast is not moved over a collective, so a state that is cast before it is gathered is still gathered in the narrow type.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def VerifyModel : Pass<"verify-model", "::mlir::ModuleOp"> {
  let summary = "check the normal form of the model level";
  let description = "Checks what dialects/Cleave/IR/Rationale.md says about **model**. Reports an error at each op that breaks a rule. Changes nothing.";
}

def VerifyStep : Pass<"verify-step", "::mlir::ModuleOp"> {
  let summary = "check the normal form of the step level";
  let description = "Checks what dialects/Cleave/IR/Rationale.md says about **step**. Reports an error at each op that breaks a rule. Changes nothing.";
}

def VerifyKernels : Pass<"verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check the last form before the plan: kernels, views, state and collectives only";
  let description = "Checks what dialects/Cleave/IR/Rationale.md says about **kernels**. Reports an error at each op that breaks a rule. Changes nothing.";
}

def ConvertCleaveToLinalg : Pass<"convert-cleave-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "lower a function to linalg and scf on tensors: the executable reference";
  let description = [{
    An oracle for tests. It has nothing in common with the planned runtime: no fusion groups, no library, no buffer plan.
    - Precondition: a function of `cleave` ops without state (`read`, `write`) and without collectives.
    - Effect: composites are decomposed first. Views and fusible ops are replaced by their `buildLinalg`, and kernel bodies are
      inlined. An op of kind `Kernel` becomes plain loops, which are written only from its kernel specification, as a device
      would do.
    - Postcondition: the function has no `cleave` op. Fails with an error at the op if an op cannot be lowered.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif
