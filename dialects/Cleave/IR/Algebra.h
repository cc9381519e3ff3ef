// What an op is in a formula (AlgebraOpInterface), for passes that read one, as those of the loss do. And which elements
// of its operands an op reads, where its loops do not say it (IndexingOpInterface).
//
//   loss = div(reduce_sum(mul(q, m)), max(reduce_sum(m), 1))
//
//   div          linear in its first operand, which it divides by the second
//   reduce_sum   linear, sums elements
//   mul          linear in each operand, times the other
//   max          bounds the sum of m: it is at least 1
//
// Who reads a formula walks from a value to an operand in which its maker is linear, and so needs no list of ops. An op
// of a plug-in that implements the interface is walked through like ours.
//
// Linearity alone could be asked of the gradient (compiler/Sharding/Linearity.h does): an op is linear in an operand if
// its vector-Jacobian product uses neither that operand nor the result. The factor cannot, and counts are whole
// numbers, which have no gradient. A test compares both answers for all ops.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ALGEBRA_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ALGEBRA_H

#include "dialects/Cleave/IR/Cleave.h"

#include <optional>

namespace cleave {

// How the result depends on one operand: result = factor * (scale or 1 / scale) * S(operand), where S moves elements,
// adds them up, or keeps those where `condition` is `isWhere`.
struct LinearOperand {
  unsigned number = 0;
  double factor = 1;        // -1 for what is subtracted
  mlir::Value scale;        // of the result's shape; null: none
  bool divides = false;     // by `scale`
  mlir::Value condition;    // elsewhere the result is zero; null: everywhere it is the operand's
  bool isWhere = true;      // the value of `condition`
  bool sums = false;        // elements of the operand
  bool usesEachOnce = true; // every element goes into exactly one of the result: none is repeated or left out
};

// A bound on a number, element by element: the result is
//   AtLeast   max(inner, number)
//   Plus      inner + number
//   Where     predicate(inner, number) ? other : inner
struct NumberBound {
  enum Kind { AtLeast, Plus, Where } kind;
  mlir::Value inner, number;
  Predicate predicate = Predicate::Lt;
  mlir::Value other = {};
};

// `onResult` in the operand's shape: the answer of ops that keep elements in their order.
mlir::Value pullBackInShape(mlir::Operation *op, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value onResult,
                            unsigned number);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveAlgebra.h.inc"

namespace cleave {

// The interface's answers; empty or null for an op without it.
llvm::SmallVector<LinearOperand, 2> linearOperands(mlir::Operation *op);
bool addsOperands(mlir::Operation *op);
// It adds two operands, element by element: one or both may be subtracted, none has a scale or a condition.
bool addsTwoPlainly(mlir::Operation *op);
// Adds up the elements of the operand, without a factor, a condition or one left out.
bool isPlainSum(const LinearOperand &linear);
mlir::Value carriedOperand(mlir::Operation *op);
// The carried operand, where its bytes are the result's: the same elements under another shape (reshape). Loops leave
// dimensions of size 1 out, and so do not tell which dimension has become which; strides do.
mlir::Value reshapedOperand(mlir::Operation *op);
llvm::SmallVector<NumberBound, 2> numberBounds(mlir::Operation *op);
bool drawsNumbers(mlir::Operation *op);
bool statesItsGroup(mlir::Operation *op, unsigned number);
std::optional<int64_t> joinedDim(mlir::Operation *op);
llvm::SmallVector<llvm::ArrayRef<int64_t>, 2> startsOf(mlir::Operation *op);

// The value whose elements this one has in their number and order: through reshapes, and casts that keep numbers.
mlir::Value throughViews(mlir::Value value);
// The one element that all elements of the value are, as the same number; or null.
mlir::Value getSpreadNumber(mlir::Value value);
// The constant that all elements of the value are; nothing where they are none.
std::optional<double> getConstantNumber(mlir::Value value);

// The predicate for exchanged operands, and its opposite.
Predicate exchanged(Predicate predicate);
Predicate opposite(Predicate predicate);

// The dialect attaches them when it is loaded.
void attachAlgebra(mlir::MLIRContext &context);

} // namespace cleave

#endif
