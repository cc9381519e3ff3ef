// Computes emitted ops whose operands are constants. It uses the definitions that the compiler generates code from.
//
// An op defines its computation in linalg and arith (ComputeOpInterface). The interpreter builds this definition, runs
// its loops, and folds each scalar op with its own folder. So every operator of the importer is evaluated on constants,
// including operators that are added later, and the value is the one that compiled code would have computed. Nothing
// here names an operator or an op of the dialect. Ops that are named kernels (products, convolutions) are not computed.
//
//   %0 = cleave.constant dense<[7, 3]>          known
//   %1 = cleave.max %0, %c4                     buildLinalg: generic { arith.maxsi }   known: [7, 4]
//
// The work is bounded by the elements of a tensor, and by the scalar operations of one interpreter. (Each imported
// function has one, and so has each operand of StaticOperands.) An op that would exceed a bound is not computed.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INTERPRETER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INTERPRETER_H

#include "compiler/Import/ONNX/Literal.h"

#include "mlir/IR/Block.h"

namespace cleave::onnx_import {

class Interpreter {
public:
  static constexpr int64_t kMaxElements = 4096;         // of one tensor
  static constexpr int64_t kMaxWork = int64_t(1) << 22; // scalar operations of one interpreter

  // Loads the dialects that ops are lowered to here.
  static void loadDialects(mlir::MLIRContext &context);

  // Sets the elements of a value that is known from elsewhere, for example as the literal of a name.
  void define(mlir::Value value, const Literal &literal);
  // Computes the results of the op if its operands are known and the bounds permit it.
  void visit(mlir::Operation *op);
  // Returns nullopt if the value was not computed.
  std::optional<Literal> find(mlir::Value value) const;
  // Removes all values. The count of work continues.
  void clear() { known_.clear(); }

private:
  // A scalar is a tensor of rank 0. Elements are FloatAttr and IntegerAttr, the types that folders take.
  struct Tensor {
    mlir::Type element;
    Shape shape;
    std::vector<mlir::Attribute> elements;
  };
  using Scalars = llvm::DenseMap<mlir::Value, mlir::Attribute>;

  bool hasOperands(mlir::Operation *op);
  void visitComputed(mlir::Operation *op);
  void visitLowered(mlir::Operation *op);
  bool runLoops(mlir::Operation *op);
  bool runBody(mlir::Block &body, llvm::ArrayRef<int64_t> index, Scalars &scalars,
               llvm::SmallVectorImpl<mlir::Attribute> &yielded);
  mlir::Attribute scalarOf(mlir::Value value, const Scalars &scalars) const;
  std::optional<Tensor> moved(mlir::Operation *op);
  bool take(int64_t work);

  llvm::DenseMap<mlir::Value, Tensor> known_;
  int64_t work_ = 0;
};

} // namespace cleave::onnx_import

#endif
