#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_TD
#define CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "decide which tensors have their channels last in memory";
  let description = [{
    Precondition: no composite ops; an inference function, since forms with channels last have no gradient.
    Effect: of all ops that have a form for tensors with channels last (ChannelsLast.h), those take it for which
    the bytes that are moved about are fewest: what a convolution copies of plain tensors, and transposes where a value is made in one layout and
    used in the other. A minimum cut finds them. Values at the function's border stay plain. At equal cost a value stays plain, and so does a function without an
    op that gains by it.
    ```mlir
    %0 = cleave.convolution %x, %w {...} : tensor<1x8x32x32xf32>, ...      %t = cleave.transpose %x, [0, 2, 3, 1] : ... -> tensor<1x32x32x8xf32>
    %1 = cleave.relu %0 : tensor<1x16x32x32xf32>                      =>   %0 = cleave.last_convolution %t, %w {...} : tensor<1x32x32x8xf32>, ...
    %2 = cleave.convolution %1, %v {...} : tensor<1x16x32x32xf32>, ...     %1 = cleave.relu %0 : tensor<1x32x32x16xf32>
    %3 = cleave.reduce sum %2, [2, 3] : tensor<1x16x32x32xf32> -> ...      %2 = cleave.last_convolution %1, %v {...} : tensor<1x32x32x16xf32>, ...
                                                                           %3 = cleave.reduce sum %2, [1, 2] : tensor<1x32x32x16xf32> -> ...
    ```
    Postcondition: as before; no value that leaves the function has another type.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FinishKernels : Pass<"finish-kernels", "::mlir::func::FuncOp"> {
  let summary = "let libraries' kernels add the bias that comes after them";
  let description = [{
    Precondition: layouts are assigned; an inference function, since what is made has no gradient.
    Effect: an add of a vector, repeated along its last dimension, to a kernel's result that nobody else wants becomes the kernel's `withEpilogue`, where it
    has one.
    ```mlir
    %c = cleave.last_convolution %x, %w {...} : ... -> tensor<1x32x32x16xf32>
    %b = cleave.broadcast %bias, [3] : tensor<16xf32> -> tensor<1x32x32x16xf32>             =>    %y = cleave.last_convolution %x, %w bias %bias {...} : ...
    %y = cleave.add %c, %b : tensor<1x32x32x16xf32>
    ```
    Postcondition: as before.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def DissolveReshapes : Pass<"dissolve-reshapes", "::mlir::func::FuncOp"> {
  let summary = "compute both sides of a reshape under one shape";
  let description = [{
    Precondition: no composite ops.
    Effect: a reshape ends a kernel. Where it stands between ops whose loops may be cut (CutLoops.h: elementwise ops, sums, broadcasts), all that hangs together
    by such ops is computed under the coarsest shapes that both sides can be cut to, without dimensions of one element, and the reshape is gone. It appears
    again where a value goes to another op, of which no kernel is made. A part stays as it is if one of its values would get another shape for an op
    that fuses with it and may not be cut (a slice, a transpose).
    ```mlir
    %f = cleave.cast %c : tensor<8x16x56x56xbf16> -> tensor<8x16x56x56xf32>
    %g = cleave.reshape %f : ... -> tensor<1x8x16x3136xf32>                    =>    %f = cleave.cast %c : tensor<8x16x56x56xbf16> -> tensor<8x16x56x56xf32>
    %s = cleave.reduce sum %g, [1, 3] : ... -> tensor<1x16xf32>                      %s = cleave.reduce sum %f, [0, 2, 3] : ... -> tensor<16xf32>
    ```
    Postcondition: as before.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FormKernels : Pass<"form-kernels", "::mlir::func::FuncOp"> {
  let summary = "group fusible ops into kernels";
  let description = [{
    Precondition: no composite ops (`decompose-composites`).
    Effect: fusible ops that share one iteration space (IterationSpace.h has the rule) become one `cleave.kernel`, whose results
    are the values that something outside needs. Constants, and producers that are cheaper to compute again than to read
    (broadcasts, iota, comparisons of them, random numbers), are cloned into every kernel that uses them. A value that kernels would hand on is
    computed again where that is less traffic (RepeatValues.h): of a rounded value and its widening only the rounded one is stored. Contiguous slices,
    concatenations and reshapes stay outside: the planner makes them views. Slices and concatenations that are not contiguous
    are fused. A group is formed only where its linalg form can be compiled (Loops/KernelGraph.h); an op that shares a kernel with
    no other gets one of its own.
    Postcondition: every kernel can be compiled. What is left in the function is kernels, views, ops of kind `Kernel`, constants that such ops read, reads, writes
    and collectives. Writes stand last.
  }];
}

def FuseBiasGradients : Pass<"fuse-bias-gradients", "::mlir::func::FuncOp"> {
  let summary = "let the product for a weight's gradient add the rows of the output's gradient";
  let description = [{
    Precondition: kernels are formed, and have no names.
    Effect: where a kernel reads one of its inputs for nothing but the sum of its rows, and a product of rank 2 with its lhs transposed contracts the same rows, the
    product becomes `cleave.matmul_bias_grad`, and the kernel takes the sum or is gone. A sum that a kernel adds while it computes or reads the rows for something
    else stays there: it costs no pass over memory. So does one of another type than the product's, of f64, or of another block.
    ```mlir
    %dw = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x4xf32>, ...
    %db = cleave.kernel ins(%dy : tensor<8x16xf32>) -> tensor<16xf32> {
    ^bb0(%rows: tensor<8x16xf32>):                                               =>    %dw, %db = cleave.matmul_bias_grad %x, %dy : tensor<8x4xf32>, ...
      %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
      cleave.yield %0 : tensor<16xf32>
    }
    ```
    Postcondition: as before.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def NameKernels : Pass<"name-kernels", "::mlir::ModuleOp"> {
  let summary = "give equal kernels equal labels";
  let description = [{
    Precondition: kernels are formed, and `tied` is decided. Effect: kernels whose bodies, types and ties are equal get the same
    `label` ("k0", "k1", ... by first appearance), so that the code generator compiles each once: twelve equal layers cost one.
    Postcondition: every kernel has a label; kernels of one label are interchangeable.
  }];
}

#endif
