// The interfaces that state the role of an op in a formula, and which elements it reads. Their C++ is in Algebra.h,
// which few passes include.
#ifndef CLEAVE_ALGEBRA_TD
#define CLEAVE_ALGEBRA_TD

include "mlir/IR/OpBase.td"

def AlgebraOpInterface : OpInterface<"AlgebraOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The facts about an op that a pass needs to read a formula: in which operands it is linear and with which factors, which
    operand's elements it only moves, and which bound it puts on a number. It also says how the op depends on samples, if
    its loops do not say so. `split-loss` uses this to find the sum and the count of a loss, and for the accuracy the scores,
    the labels and the positions that count.

    At an op without the interface a formula ends, because nothing is known about its function.
  }];
  let methods = [
    InterfaceMethod<[{Returns the operands in which the op is linear while the other operands are fixed. A multiplication is
      linear in both of its operands. The factor of each is the other operand.

      ```mlir
      %0 = cleave.mul %x, %w : tensor<4xf32>                                  // 0: times %w    1: times %x
      %1 = cleave.reduce sum %x, [0] : tensor<4xf32> -> tensor<f32>           // 0: sums 4 elements
      %2 = cleave.select %c, %x, %zero : tensor<4xi1>, tensor<4xf32>          // 1: where %c is true
      ```}],
      "::llvm::SmallVector<::cleave::LinearOperand, 2>", "getLinearOperands", (ins), "", "return {};">,
    InterfaceMethod<[{True if the op is linear in all these operands together: it adds them, each times its factor. Passes
      that split sums split those of two operands without scale and condition, and no others.}],
      "bool", "addsOperands", (ins), "", "return false;">,
    InterfaceMethod<[{Returns the operand whose elements are the result's elements, in the same row-major order. They may be
      repeated, or be converted to another type (reshape, broadcast, cast). Null if there is no such operand.}],
      "::mlir::Value", "getCarriedOperand", (ins), "", "return {};">,
    InterfaceMethod<[{Returns each bound that the op may be read as. For max(a, b) there are two: `a`, but at least `b`, and
      `b`, but at least `a`. The caller uses the bound whose number is a constant.}],
      "::llvm::SmallVector<::cleave::NumberBound, 2>", "getNumberBounds", (ins), "", "return {};">,
    InterfaceMethod<"Returns the comparison whose truth values are the result; nothing if the op compares nothing.",
      "::std::optional<::cleave::ComparedValues>", "getComparison", (ins), "", "return {};">,
    InterfaceMethod<[{Returns the values between which the op chooses. Each element of the result is that of one of them, at the same
      place. Empty if the op chooses nothing.

      ```mlir
      %0 = cleave.select %c, %labels, %ignored : tensor<4xi1>, tensor<4xi64>      // %labels, %ignored
      ```}],
      "::llvm::SmallVector<::mlir::Value, 2>", "getChoices", (ins), "", "return {};">,
    InterfaceMethod<[{Returns the dimension of the classes if the result is the logarithms of their probabilities, and operand 0 is
      their scores in the same shape: the class with the greatest score has the greatest probability.}],
      "::std::optional<int64_t>", "getLogProbabilityDim", (ins), "", "return {};">,
    InterfaceMethod<[{Returns a value that has, for each element of operand `number`, the element of `onResult` at the result
      element that it contributes to. The op must be linear in this operand, without a factor that varies. `onResult` has
      the result's shape and any element type. A sum leaves out the dimensions `leftOut` of the operand, which must be
      among the dimensions that it sums.}],
      "::mlir::Value", "pullBack",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$onResult, "unsigned":$number, "::llvm::ArrayRef<int64_t>":$leftOut), "",
      "return ::cleave::pullBackInShape($_op, builder, loc, onResult, number);">,
    InterfaceMethod<[{True if the op draws random numbers. They are different for each sample and in each micro-batch, although
      they are not computed from samples. Only `random_uniform` gets another origin in each micro-batch
      (`shift-random-origins`), so an op that needs random numbers must be composed of it.}],
      "bool", "drawsNumbers", (ins), "", "return false;">,
    InterfaceMethod<[{True if result `number` counts as computed from one sample, although it depends on others: the op states
      over which group of samples it is computed. The group is then part of the mathematics (`--batch-norm`), and does not
      depend on which samples are in a batch.

      ```mlir
      %y, %mean, %variance = cleave.normalize ...   // 0: yes    1, 2: no, they are of the whole group
      ```}],
      "bool", "statesItsGroup", (ins "unsigned":$number), "", "return false;">
  ];
}

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    Says which elements of its operands an op reads, if its loops do not say so: a dimension that is joined or cut has no
    loop. It also says which elements are indices, and which are read at indices. The driver uses it to compare a model with the
    same model at twice the batch, and `split-loss` to find out which values depend on one sample alone, and which class a
    label picks.

    An op without the interface moves no elements, or only as its loops say.
  }];
  let methods = [
    InterfaceMethod<"Returns the dimension of the result along which the operands are concatenated, in their order; nothing if they are not.",
      "::std::optional<int64_t>", "getJoinedDim", (ins), "", "return {};">,
    InterfaceMethod<[{Returns lists with one number for each dimension of operand 0. They say where in the operand the result
      begins and with which steps it continues (`starts` and `steps` of a slice), or where in the result the operand begins
      (`low` of a pad). Sizes are not included, because the types have them.}],
      "::llvm::SmallVector<::llvm::ArrayRef<int64_t>, 2>", "getStarts", (ins), "", "return {};">,
    InterfaceMethod<[{Returns the dimension in which each element of the result is its own index; nothing if the elements are other
      numbers, or count from an origin.}],
      "::std::optional<int64_t>", "getCountedDim", (ins), "", "return {};">,
    InterfaceMethod<"Returns the operand that the op reads at indices, and these indices; nothing if it reads none in this way.",
      "::std::optional<::cleave::TableRead>", "getTableRead", (ins), "", "return {};">
  ];
}

#endif
