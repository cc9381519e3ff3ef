// The five things an op knows and tells passes, as interfaces. The first, its result types, is upstream's
// InferTypeOpInterface; the third, how it may be split, is upstream's shard::ShardingInterface with two
// conventions of ours, see Rationale.md ("Indexing maps").
#ifndef CLEAVE_INTERFACES_TD
#define CLEAVE_INTERFACES_TD

include "mlir/IR/OpBase.td"

// 2. Its gradient.
def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    Builds the vector-Jacobian product of the op out of other `cleave` ops. The rule may use the op's operands and
    results; which of them the backward pass really keeps is decided later, by the residual choice.
  }];
  let methods = [InterfaceMethod<[{
      Given the gradient of every result (null where it is zero), sets `operandGrads[i]` for every floating-point
      operand that gets one. `operandGrads` comes sized and null. Fails, with a diagnostic, where the op has no
      derivative for its attributes.
    }],
    "::llvm::LogicalResult", "buildVJP",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$resultGrads,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>];
}

// 4. What it costs.
def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::cleave";
  let description = "Floating-point operations, and compulsory bytes read and written, of one execution.";
  let methods = [InterfaceMethod<"The cost of the op at its current types.", "::cleave::OpCost", "getCost", (ins), "",
    "return ::cleave::elementwiseCost($_op);">];
}

// 5. How it is computed.
def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    Says which of four ways computes the op, and gives that way's recipe:
    - `View`: no work where `getByteViews` says that bytes stay where they are (reshape); fused elsewhere, and so with a linalg body;
    - `Fusible`: `buildLinalg` gives linalg ops on tensors, which fuse with their neighbours;
    - `Composite`: `decompose` gives fusible ops (softmax); sharding uses it too when a reduced dimension is split (`isDecomposable`);
    - `Kernel`: `getKernelSpec` names a kernel of runtime/plan/Kernels.def.
  }];
  let methods = [
    InterfaceMethod<"Which way computes this op.", "::cleave::ComputeKind", "getComputeKind", (ins), "",
      "return ::cleave::ComputeKind::Fusible;">,
    InterfaceMethod<[{View: which of its values are bytes of which, at its current types: its result is a part of an operand, or each operand
      is a part of its result. Empty where elements must be moved (a slice of columns). Bytes are row-major without gaps.

      ```mlir
      %0 = cleave.slice %a, [2, 0], [4, 4], [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>     // whole %a, part %0 at 32
      %1 = cleave.concat %b, %c dim = 0 : tensor<2xf32>, tensor<6xf32> -> tensor<8xf32>     // whole %1, parts %b at 0, %c at 8
      ```}],
      "::llvm::SmallVector<::cleave::ByteView>", "getByteViews", (ins), "", "return {};">,
    InterfaceMethod<"View, Fusible: the op as linalg on tensors; `operands` replace the op's own.",
      "::llvm::SmallVector<::mlir::Value>", "buildLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands), "", "return {};">,
    InterfaceMethod<"The op as other cleave ops: fusible ones for a composite, others where a kernel is more than one op.",
      "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands), "", "return {};">,
    InterfaceMethod<[{Whether `decompose` takes the op apart. Sharding then does where the op cannot be split as its operands are: a composite along what it
      reduces, a product with a bias along what it contracts.}],
      "bool", "isDecomposable", (ins), "", "return $_op.getComputeKind() == ::cleave::ComputeKind::Composite;">,
    InterfaceMethod<[{Kernel: builds this op with `bias`, a vector along the result's last dimension, added before the result is rounded. Null where the kernel has
      no such epilogue, or one already.}],
      "::mlir::Value", "withBias", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$bias), "", "return {};">,
    InterfaceMethod<[{Are the results' bits a function of the operands' bits alone, whatever code computes them? True of an op whose elements are each
      computed by themselves, by the same operations in the same order, and of one that only moves or compares elements. False of a sum: its
      terms are added in the order that suits the loops. What is false here is computed by one kernel and never again by other code, since a
      decision (a comparison, a floor, an index of a maximum) may depend on the last bit. A reduced loop makes the default false; `Composite` and `Kernel` are false.}],
      "bool", "isReproducible", (ins), "", "return ::cleave::computesElementsAlone($_op);">,
    InterfaceMethod<[{Kernel: name and parameters. The kernel's buffers are the op's operands, then its results, then
      scratch where Kernels.def has it.}], "::cleave::KernelSpec", "getKernelSpec", (ins), "", "return {};">
  ];
}

// Ops that must change to make a part of their tensor: their elements depend on where they stand in the whole (iota, random
// numbers), or their attributes tell sizes (slice).
def PositionalOpInterface : OpInterface<"PositionalOpInterface"> {
  let cppNamespace = "::cleave";
  let description = "After partitioning, such an op makes a part of its tensor and must know where the part begins.";
  let methods = [
    InterfaceMethod<[{Builds the op that makes the part of type `local` whose first element has the index `origin` (tensor<rank x i64>) in
      this op's result, and returns its result. Operands are the op's own: those of a split slice are local already.}],
      "::mlir::Value", "localize", (ins "::mlir::OpBuilder &":$builder, "::mlir::RankedTensorType":$local,
                                        "::mlir::Value":$origin)>,
    InterfaceMethod<[{Does the part depend on where it begins? Then it must be one piece of the whole; a slice's part may be taken out of several
      blocks (ShardingAttr).}],
      "bool", "dependsOnOrigin", (ins), "", "return true;">,
    InterfaceMethod<"Does an element depend on its index in dimension `dim` of the result? An iota's does in one dimension.",
      "bool", "countsAlong", (ins "int64_t":$dim), "", "return $_op.dependsOnOrigin();">];
}

#endif
