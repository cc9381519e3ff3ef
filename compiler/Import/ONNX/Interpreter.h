// Computes emitted ops whose operands are constants, by the definitions that the compiler generates code from.
//
// An op says in linalg and arith how it is computed (ComputeOpInterface). The interpreter builds that, runs over the
// loops, and folds each scalar op with its own folder. So every operator of the importer is evaluated on constants, also
// one that is added later, and the value is the one that compiled code would have computed. Nothing here knows an
// operator or an op of the dialect by name. Ops that are named kernels (products, convolutions) are left alone.
//
//   %0 = cleave.constant dense<[7, 3]>          known
//   %1 = cleave.max %0, %c4                     buildLinalg: generic { arith.maxsi }   known: [7, 4]
//
// Work is bounded: by elements of a tensor, and by scalar operations of one import. What exceeds it stays an op.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INTERPRETER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INTERPRETER_H

#include "compiler/Import/ONNX/Literal.h"

#include "mlir/IR/Block.h"

namespace cleave::onnx_import {

class Interpreter {
public:
  static constexpr int64_t kMaxElements = 4096;         // of one tensor
  static constexpr int64_t kMaxWork = int64_t(1) << 22; // scalar operations

  // What ops are lowered to here.
  static void loadDialects(mlir::MLIRContext &context);

  // Known from elsewhere, as the literal of a name.
  void define(mlir::Value value, const Literal &literal);
  // Computes the results of the op where it can.
  void visit(mlir::Operation *op);
  // None: not computed.
  std::optional<Literal> find(mlir::Value value) const;
  // Forgets all values, not the work that was done.
  void clear() { known_.clear(); }

private:
  // A scalar is a tensor of rank 0. Elements are FloatAttr and IntegerAttr, as folders take them.
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
