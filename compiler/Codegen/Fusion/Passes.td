#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_TD
#define CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"form-kernels", "::mlir::func::FuncOp"> {
  let summary = "group fusible ops into kernels";
  let description = [{
    Precondition: no composite ops (`decompose-composites`).
    Effect: fusible ops that share one iteration space (IterationSpace.h has the rule) become one `cleave.kernel`, whose results
    are the values that something outside needs. Constants, and producers that are cheaper to compute again than to read
    (broadcasts, iota, comparisons of them, random numbers), are cloned into every kernel that uses them. Contiguous slices,
    concatenations and reshapes stay outside: the planner makes them views. Slices and concatenations that are not contiguous
    are fused. A group is formed only where its linalg form can be compiled (Loops/KernelGraph.h); an op that shares a kernel with
    no other gets one of its own.
    Postcondition: every kernel can be compiled. What is left in the function is kernels, views, ops of kind `Kernel`, constants that such ops read, reads, writes
    and collectives. Writes stand last.
  }];
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
