// What an op is in a formula, and which elements it reads. Included by Algebra.h, which few passes do.
#ifndef CLEAVE_ALGEBRA_TD
#define CLEAVE_ALGEBRA_TD

include "mlir/IR/OpBase.td"

def AlgebraOpInterface : OpInterface<"AlgebraOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    What those who read a formula must know of an op: in which operands it is linear and by which factors, which operand's elements it only moves,
    which bound it puts on a number, and what it has to do with samples that its loops do not say. `split-loss` finds the sum and the count of a loss by it, and the accuracy the positions that count.

    An op without the interface ends a formula: it is a function of which nothing is known.
  }];
  let methods = [
    InterfaceMethod<[{The operands in which the op is linear while the others are held fixed. A multiplication is in both, each with the other as its factor.

      ```mlir
      %0 = cleave.mul %x, %w : tensor<4xf32>                                  // 0: times %w    1: times %x
      %1 = cleave.reduce sum %x, [0] : tensor<4xf32> -> tensor<f32>           // 0: sums 4 elements
      %2 = cleave.select %c, %x, %zero : tensor<4xi1>, tensor<4xf32>          // 1: where %c is true
      ```}],
      "::llvm::SmallVector<::cleave::LinearOperand, 2>", "getLinearOperands", (ins), "", "return {};">,
    InterfaceMethod<[{Whether the op is linear in all those operands together: it adds them, each times its factor. Who takes sums apart
      knows those of two operands without scale and condition, and leaves others whole.}],
      "bool", "addsOperands", (ins), "", "return false;">,
    InterfaceMethod<[{The operand of which every element of the result is an element, in the same row-major order, perhaps repeated or as a number of
      another type (reshape, broadcast, cast). Null where there is none.}],
      "::mlir::Value", "getCarriedOperand", (ins), "", "return {};">,
    InterfaceMethod<[{The bounds that the op may be read as: of max(a, b), that a is at least b, and that b is at least a. Who asks takes the one whose number
      is a constant.}],
      "::llvm::SmallVector<::cleave::NumberBound, 2>", "getNumberBounds", (ins), "", "return {};">,
    InterfaceMethod<[{Where the op is linear in operand `number` without a factor that varies: for each of that operand's elements, the element of `onResult`
      that belongs to the element of the result that it goes into. `onResult` has the result's shape and any element type. A sum leaves the dimensions `leftOut`
      of the operand out, of those that it sums.}],
      "::mlir::Value", "pullBack",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$onResult, "unsigned":$number, "::llvm::ArrayRef<int64_t>":$leftOut), "",
      "return ::cleave::pullBackInShape($_op, builder, loc, onResult, number);">,
    InterfaceMethod<[{Whether the op draws numbers: they are others for every sample and in every micro-batch, though no sample reaches them. Only `random_uniform` is
      given another origin in each micro-batch (`shift-random-origins`): an op with numbers of its own must be composed of it.}],
      "bool", "drawsNumbers", (ins), "", "return false;">,
    InterfaceMethod<[{Whether result `number` is read as that of one sample, although others reach it: the op states the group of samples over which it goes. The
      group is then part of the mathematics (`--batch-norm`), and not what a batch happens to hold.

      ```mlir
      %y, %mean, %variance = cleave.normalize ...   // 0: yes    1, 2: no, they are of the whole group
      ```}],
      "bool", "statesItsGroup", (ins "unsigned":$number), "", "return false;">
  ];
}

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    Which elements of its operands an op reads, as far as its loops do not say it: a dimension that is joined or cut has no loop. The comparison
    of a model with the same of twice the batch asks it.

    An op without the interface moves no elements, or moves them only as its loops say.
  }];
  let methods = [
    InterfaceMethod<"The dimension of the result along which the operands lie end to end, in their order. Nothing where they do not.",
      "::std::optional<int64_t>", "getJoinedDim", (ins), "", "return {};">,
    InterfaceMethod<[{Lists with one number for each dimension of operand 0, which say where in the operand the result begins and in which steps it goes on, or
      where in the result the operand begins: `starts` and `steps` of a slice, `low` of a pad. Sizes, which types have too, are no such numbers.}],
      "::llvm::SmallVector<::llvm::ArrayRef<int64_t>, 2>", "getStarts", (ins), "", "return {};">
  ];
}

#endif
