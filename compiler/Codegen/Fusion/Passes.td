#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_TD
#define CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "decide which tensors have their channels last in memory";
  let description = [{
    Precondition: no composite ops; an inference function, because forms with channels last have no gradient.
    Effect: some of the ops that have a form for tensors with channels last (ChannelsLast.h) get this form. They are chosen so
    that the fewest bytes are moved. Bytes are moved by a convolution that must copy plain tensors, and by a transpose if a
    value is made in one layout and used in the other. A minimum cut finds the best choice. Arguments and results of the
    function stay plain. At equal cost a value stays plain. A function without an op that gains stays as it is.
    ```mlir
    %0 = cleave.convolution %x, %w {...} : tensor<1x8x32x32xf32>, ...      %t = cleave.transpose %x, [0, 2, 3, 1] : ... -> tensor<1x32x32x8xf32>
    %1 = cleave.relu %0 : tensor<1x16x32x32xf32>                      =>   %0 = cleave.last_convolution %t, %w {...} : tensor<1x32x32x8xf32>, ...
    %2 = cleave.convolution %1, %v {...} : tensor<1x16x32x32xf32>, ...     %1 = cleave.relu %0 : tensor<1x32x32x16xf32>
    %3 = cleave.reduce sum %2, [2, 3] : tensor<1x16x32x32xf32> -> ...      %2 = cleave.last_convolution %1, %v {...} : tensor<1x32x32x16xf32>, ...
                                                                           %3 = cleave.reduce sum %2, [1, 2] : tensor<1x32x32x16xf32> -> ...
    ```
    Postcondition: as before. The results of the function keep their types.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
}

def FinishKernels : Pass<"finish-kernels", "::mlir::func::FuncOp"> {
  let summary = "let kernels of libraries add the bias that comes after them";
  let description = [{
    Precondition: layouts are assigned; an inference function, because the ops that the pass makes have no gradient.
    Effect: if a vector, repeated along the last dimension, is added to a kernel's result that has no other use, the kernel adds
    it (`withEpilogue`), if it can.
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
    Effect: kernels end at a reshape. So a reshape is removed if it is between ops whose loops may be cut (CutLoops.h: elementwise
    ops, sums, broadcasts). All ops that are connected through such ops are then computed in the coarsest shapes into which
    both sides can be cut, without dimensions of one element. A reshape is added again where an op that does not become part
    of a kernel uses a value. Connected ops stay as they are if one of their values would get another shape at an op that is
    fused with it and may not be cut (a slice, a transpose).
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
    Effect: fusible ops that share one iteration space (IterationSpace.h has the rule) become one `cleave.kernel`. Its results are
    the values that ops outside of it use. Constants, and ops that are cheaper to compute again than to read (broadcasts, iota,
    comparisons of them, random numbers), are cloned into every kernel that uses them. A kernel computes a value of another
    kernel again if this needs less traffic (RepeatValues.h): for example, a rounded value is stored, and its cast to a wider
    type is computed again. Contiguous slices, concatenations and reshapes stay outside of kernels, because planning makes
    them views. Slices and concatenations that are not contiguous are fused. A group is formed only if its linalg form can be
    compiled (Loops/KernelGraph.h). An op that cannot be grouped with others gets a kernel of its own.
    Postcondition: every kernel can be compiled. The function has only kernels, views, ops of kind `Kernel`, constants that such
    ops read, reads, writes and collectives. Writes come last.
  }];
}

def FuseBiasGradients : Pass<"fuse-bias-gradients", "::mlir::func::FuncOp"> {
  let summary = "let the product for a weight's gradient add the rows of the output's gradient";
  let description = [{
    Precondition: kernels are formed, and have no names.
    Effect: if a kernel uses one of its inputs only for the sum of its rows, and a product of rank 2 with a transposed lhs
    contracts the same rows, the product becomes `cleave.matmul_bias_grad`. The kernel then has the sum as an input, or is
    removed if it computed nothing else. A sum stays in its kernel if the kernel computes the rows, or also reads them for
    another purpose, because then it needs no extra pass over memory. It also stays if its type is not the product's, if it is
    of f64, or if it belongs to another block.
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
    Precondition: kernels are formed, and `tied` is decided.
    Effect: kernels with equal bodies, types and ties get the same `label` ("k0", "k1", ... by first appearance). The code
    generator compiles each label once, so twelve equal layers take as long to compile as one.
    Postcondition: every kernel has a label. Kernels of one label are interchangeable.
  }];
}

#endif
