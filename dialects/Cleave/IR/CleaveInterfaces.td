// The interfaces by which an op answers the five questions of the passes. The first question, about its result types,
// is answered by upstream's InferTypeOpInterface. The third, about how it may be split, is answered by upstream's
// shard::ShardingInterface, with Cleave's own conventions (Rationale.md, "Indexing maps").
#ifndef CLEAVE_INTERFACES_TD
#define CLEAVE_INTERFACES_TD

include "mlir/IR/OpBase.td"

// 2. Its gradient.
def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    Builds the vector-Jacobian product of the op from other `cleave` ops. It may use the op's operands and results.
    `choose-residuals` decides later which of them are kept for the backward pass.
  }];
  let methods = [InterfaceMethod<[{
      `resultGrads` has the gradient of every result, or null if it is zero. Sets `operandGrads[i]` for every
      floating-point operand that gets a gradient. The caller gives `operandGrads` an entry for each operand, all null.
      Fails with a diagnostic if the op has no derivative for its attributes.
    }],
    "::llvm::LogicalResult", "buildVJP",
    (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$resultGrads,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>];
}

// 4. What it costs.
def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::cleave";
  let description = "The floating-point operations of one execution, and the bytes that it must at least read and write.";
  let methods = [InterfaceMethod<"Returns the cost of the op for its current types.", "::cleave::OpCost", "getCost", (ins), "",
    "return ::cleave::elementwiseCost($_op);">];
}

// 5. How it is computed.
def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    Says in which of four ways the op is computed, and how:
    - `View`: if `getByteViews` says that the bytes stay where they are (reshape), nothing is computed. Otherwise the op is
      fused, so it implements `buildLinalg` too.
    - `Fusible`: `buildLinalg` gives linalg ops on tensors, which are fused with their neighbours.
    - `Composite`: `decompose` gives fusible ops (softmax). Sharding uses it too, if a reduced dimension is split
      (`isDecomposable`).
    - `Kernel`: `getKernelSpec` names a kernel of runtime/plan/Kernels.def.
  }];
  let methods = [
    InterfaceMethod<"Returns the way in which this op is computed.", "::cleave::ComputeKind", "getComputeKind", (ins), "",
      "return ::cleave::ComputeKind::Fusible;">,
    InterfaceMethod<[{For a view. Says which of its values are bytes of another one, for its current types: the result is a part
      of an operand, or each operand is a part of the result. Empty if elements must be moved (a slice of columns). Tensors
      are row-major without gaps.

      ```mlir
      %0 = cleave.slice %a, [2, 0], [4, 4], [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>     // whole %a, part %0 at 32
      %1 = cleave.concat %b, %c dim = 0 : tensor<2xf32>, tensor<6xf32> -> tensor<8xf32>     // whole %1, parts %b at 0, %c at 8
      ```}],
      "::llvm::SmallVector<::cleave::ByteView>", "getByteViews", (ins), "", "return {};">,
    InterfaceMethod<"For a view or a fusible op. Builds it as linalg ops on `operands`, which replace its own, and returns the results.",
      "::llvm::SmallVector<::mlir::Value>", "buildLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands), "", "return {};">,
    InterfaceMethod<"Builds the op as other cleave ops: fusible ops for a composite, any ops for a kernel that stands for several. Returns the results.",
      "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands), "", "return {};">,
    InterfaceMethod<[{True if sharding may `decompose` the op. It does so if the op cannot be split as its operands are: a
      composite along a reduced dimension, or a product with a bias along the contracted one.}],
      "bool", "isDecomposable", (ins), "", "return $_op.getComputeKind() == ::cleave::ComputeKind::Composite;">,
    InterfaceMethod<[{For a kernel. Builds this op so that it adds `bias`, a vector along the result's last dimension, before the
      result is rounded. Null if the kernel cannot add a bias, or already has one.}],
      "::mlir::Value", "withBias", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$bias), "", "return {};">,
    InterfaceMethod<[{True if the bits of the results depend only on the bits of the operands, and not on the code that computes
      them. This holds if the op computes each element separately, by the same operations in the same order, and if the op
      only moves or compares elements. It does not hold for a sum, whose terms are added in the order that suits the loops.
      If it is false, one kernel computes the op, and no other code may compute it again: a decision (a comparison, a floor,
      the index of a maximum) may depend on the last bit. The default is false for an op with a reduced loop, and for
      `Composite` and `Kernel`.}],
      "bool", "isReproducible", (ins), "", "return ::cleave::computesElementsAlone($_op);">,
    InterfaceMethod<[{For a kernel. Returns its name and its parameters. The kernel's buffers are the op's operands, then its
      results, then scratch if Kernels.def lists it.}], "::cleave::KernelSpec", "getKernelSpec", (ins), "", "return {};">
  ];
}

// Ops that must be changed to make a part of their tensor: their elements depend on their index in the whole tensor
// (iota, random numbers), or their attributes state sizes (slice).
def PositionalOpInterface : OpInterface<"PositionalOpInterface"> {
  let cppNamespace = "::cleave";
  let description = "After partitioning, the op makes a part of its tensor, and must know where the part begins.";
  let methods = [
    InterfaceMethod<[{Builds an op that makes the part of type `local` whose first element has the index `origin` (tensor<rank x i64>) in
      this op's result, and returns its result. It uses the operands of this op. Those of a split slice are local already.}],
      "::mlir::Value", "localize", (ins "::mlir::OpBuilder &":$builder, "::mlir::RankedTensorType":$local,
                                        "::mlir::Value":$origin)>,
    InterfaceMethod<[{True if the part depends on where it begins. Then it must be one piece of the whole. A slice's part does
      not depend on it, so it may consist of parts of several blocks (ShardingAttr).}],
      "bool", "dependsOnOrigin", (ins), "", "return true;">,
    InterfaceMethod<"True if an element depends on its index in dimension `dim` of the result. For an iota this is one dimension.",
      "bool", "countsAlong", (ins "int64_t":$dim), "", "return $_op.dependsOnOrigin();">];
}

#endif
