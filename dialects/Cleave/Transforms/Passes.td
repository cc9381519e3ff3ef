// Passes over the `cleave` dialect alone: composites, the levels' normal forms, and the executable reference.
#ifndef CLEAVE_TRANSFORMS_PASSES_TD
#define CLEAVE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"decompose-composites", "::mlir::func::FuncOp"> {
  let summary = "replace composite ops (softmax, log_softmax, normalize) by fusible ones";
  let description = [{
    Runs after autodiff, which wants the composites' own gradients, and before kernels are formed.
    - Precondition: any level.
    - Effect: every op whose compute kind is `Composite` is replaced by its `decompose`, repeatedly.
    - Postcondition: no composite op is left in the function.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FormEpilogues : Pass<"form-epilogues", "::mlir::func::FuncOp"> {
  let summary = "add a bias inside of the product, before its result is rounded";
  let description = [{
    - Precondition: model level, before precision is applied and before differentiation: what is kept for the backward pass, or computed again in it, is
      then the biased product, which one kernel computes.
    - Effect: an add of a vector, repeated along its last dimension, to a kernel's result of 16 bits that nobody else wants becomes the kernel's `withBias`,
      where it has one. Reshapes between the two that keep the last dimension come after. A wider result is left alone, but where `narrowed` says that it
      will be rounded to 16 bits: of f32 both ways have the same numbers, and the add is cheaper in the kernel after it (Rationale.md, "A bias is part of its product").
    ```mlir
    %p = cleave.matmul %x, %w : tensor<8x4xf16>, tensor<4x16xf16> -> tensor<8x16xf16>
    %b = cleave.broadcast %bias, [1] : tensor<16xf16> -> tensor<8x16xf16>                 =>    %y = cleave.matmul %x, %w bias %bias : tensor<8x4xf16>, tensor<4x16xf16>,
    %y = cleave.add %p, %b : tensor<8x16xf16>                                                          tensor<16xf16> -> tensor<8x16xf16>
    ```
  }];
  let options = [Option<"narrowed", "narrowed", "bool", "false", "results of f32 will be rounded to 16 bits, too">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FormAttention : Pass<"form-attention", "::mlir::ModuleOp"> {
  let summary = "make one op of a product, a softmax and a product, whose scores nobody else wants";
  let description = [{
    - Precondition: model level, after precision is applied (a product's type is then final) and before differentiation, which wants attention's own
      gradient.
    - Effect: `softmax(scores) value` becomes `cleave.attention`, where the scores are a product of queries and keys, scaled by a number, with masks added
      to them or chosen instead of them, cast between floating-point types, and each of these values has one use. A mask by which row i has columns 0 to i
      becomes `causal`. Dropout of the probabilities (`select(uniform >= rate, p / (1 - rate), 0)`) becomes the op's own, by the same numbers, with an index for each head that says which they are
      (AttentionDropout.h); it comes after `shift-random-origins`. Left alone are products of other ranks than 2 to 4, softmax over another dimension or in f64 of
      narrower products (ONNX `softmax_precision`: the op computes f32), masks under the scale, masks of both
      kinds at once, and masks that are computed of a parameter (relative positions that are learned: their gradient needs all scores in any case), and
      whatever else is between softmax and the second product.
    - Postcondition: none of the scores of what was found is a value of a function, and constants that no function reads any more (causal masks) are gone.
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
    - Precondition: model level, types are chosen (`apply-precision`); before differentiation, whose products then have the padded shapes, too.
    - Effect: where the result's last dimension, or the contracted one, of a large product is no multiple of `multiple`, the operands are padded with
      zeros and the result is sliced. A reshape of the result that keeps its last dimension comes before the slice. A library's fastest kernels take
      aligned rows alone: a vocabulary of 50257 costs a product of bf16 on a GPU five times its time.
    ```mlir
                                                                                 %v = cleave.pad %w, [0, 0], [0, 7], [0, 0], value = 0.0 : tensor<768x50257xbf16> -> tensor<768x50264xbf16>
    %y = cleave.matmul %x, %w : tensor<8192x768xbf16>, tensor<768x50257xbf16> => %p = cleave.matmul %x, %v : tensor<8192x768xbf16>, tensor<768x50264xbf16> -> tensor<8192x50264xbf16>
      -> tensor<8192x50257xbf16>                                                 %y = cleave.slice %p, [0, 0], [8192, 50257], [1, 1] : tensor<8192x50264xbf16> -> tensor<8192x50257xbf16>
    ```
  }];
  let options = [Option<"multiple", "multiple", "int64_t", "1", "elements that a row is to be a multiple of; 1: any row will do">];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def GatherMoves : Pass<"gather-moves", "::mlir::func::FuncOp"> {
  let summary = "bring slices, transposes, concatenations and sums together, where only a reshape is between them";
  let description = [{
    A reshape is no part of a kernel, so what is on its two sides passes over memory twice.
    - Precondition: step level, or model level after everything that looks for patterns of ops (`form-attention`); before sharding, because parts of reshapes
      carry the type of the whole.
    - Effect: a reshape goes up over a slice, and down over a transpose, a concatenation and a reduction, where it only merges or splits dimensions that
      these keep together, and where ops join thereby that were apart. Two transposes with a reshape between them become one. Elements are moved and
      nothing else: reductions keep their loops.
    ```mlir
    %s = cleave.slice %x, [0, 0, 4], [8, 6, 4], [1, 1, 1] : ...     %r = cleave.reshape %x : tensor<8x6x12xf32> -> tensor<8x6x6x2xf32>
    %r = cleave.reshape %s : ... -> tensor<8x6x2x2xf32>          => %s = cleave.slice %r, [0, 0, 2, 0], [8, 6, 2, 2], [1, 1, 1, 1] : ...
    %t = cleave.transpose %r, [0, 2, 1, 3] : ...                    %t = cleave.transpose %s, [0, 2, 1, 3] : ...
    ```
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def SinkCasts : Pass<"sink-casts", "::mlir::func::FuncOp"> {
  let summary = "narrow what is taken out of a stored table, not the table";
  let description = [{
    - Precondition: any level; useful where it is known what is stored and what is gathered.
    - Effect: a cast of what is read to a narrower type, used by one kernel alone that moves some of its elements (a look-up in a frozen embedding),
      is made after the kernel. The values are the same.
    ```mlir
    %t = cleave.read @table : tensor<1000x8xf32>
    %n = cleave.cast %t : tensor<1000x8xf32> -> tensor<1000x8xbf16>                =>    %r = cleave.take %t, %i, dim = 0 : ... -> tensor<6x8xf32>
    %r = cleave.take %n, %i, dim = 0 : ... -> tensor<6x8xbf16>                           %n = cleave.cast %r : tensor<6x8xf32> -> tensor<6x8xbf16>
    ```
    What is gathered is narrow before that, and stays so: a cast is not moved over a collective.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def VerifyModel : Pass<"verify-model", "::mlir::ModuleOp"> {
  let summary = "check the normal form of the model level";
  let description = "Checks what Rationale.md says of **model**; changes nothing. Every broken rule is an error at its op.";
}

def VerifyStep : Pass<"verify-step", "::mlir::ModuleOp"> {
  let summary = "check the normal form of the step level";
  let description = "Checks what Rationale.md says of **step**; changes nothing. Every broken rule is an error at its op.";
}

def VerifyKernels : Pass<"verify-kernels", "::mlir::ModuleOp"> {
  let summary = "check the last form before the plan: kernels, views, state and collectives only";
  let description = "Checks what Rationale.md says of **kernels**; changes nothing. Every broken rule is an error at its op.";
}

def ConvertCleaveToLinalg : Pass<"convert-cleave-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "lower a function to linalg and scf on tensors: the executable reference";
  let description = [{
    An oracle for tests that shares nothing with the planned runtime: no fusion groups, no library, no buffer plan.
    - Precondition: a function of `cleave` ops without state (`read`, `write`) and collectives.
    - Effect: views and fusible ops become their `buildLinalg`, composites are decomposed first, kernel bodies are inlined, and ops of kind `Kernel`
      become plain loops written from their kernel specification alone, as a device would have to.
    - Postcondition: no `cleave` op is left. Fails, naming the op, where that cannot be had.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif
