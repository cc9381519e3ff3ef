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
// Each scalar operation and each element that is read is drawn from the budget (dialects/Cleave/IR/Budget.h), in the name
// of the node that is being imported. If the value must be known (Use::Required), the compilation ends when the budget is
// exhausted. If the ops could run as well (Use::Optional), they are not computed after the share for that is used up.
// An op with a tensor of more than kMaxFoldedElements elements (dialects/Cleave/IR/Folding.h) is not computed, because
// its result would make code large.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INTERPRETER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INTERPRETER_H

#include "compiler/Import/ONNX/Literal.h"
#include "dialects/Cleave/IR/Budget.h"

#include "mlir/IR/Block.h"

namespace cleave::onnx_import {

class Interpreter {
public:
  enum class Use { Required, Optional };

  Interpreter(Budget &budget, Use use) : budget_(budget), use_(use) {}

  // Loads the dialects that ops are lowered to here.
  static void loadDialects(mlir::MLIRContext &context);

  // Sets the elements of a value that is known from elsewhere, for example as the literal of a name.
  void define(mlir::Value value, const Literal &literal);
  // Computes the results of the op if its operands are known.
  void visit(mlir::Operation *op);
  // Returns nullopt if the value was not computed.
  std::optional<Literal> find(mlir::Value value) const;

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
  bool take(int64_t work) {
    return use_ == Use::Required ? budget_.draw(Budget::Kind::Scalars, uint64_t(work))
                                 : budget_.drawOptional(Budget::Kind::Scalars, uint64_t(work));
  }

  Budget &budget_;
  Use use_;
  llvm::DenseMap<mlir::Value, Tensor> known_;
};

} // namespace cleave::onnx_import

#endif
