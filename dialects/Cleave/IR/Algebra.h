// The role of an op in a formula (AlgebraOpInterface), for passes that read formulas, such as that of the loss. Also
// the elements of its operands that an op reads, if its loops do not say so (IndexingOpInterface).
//
//   loss = div(reduce_sum(mul(q, m)), max(reduce_sum(m), 1))
//
//   div          linear in its first operand, which it divides by the second
//   reduce_sum   linear, sums elements
//   mul          linear in each operand, times the other
//   max          bounds the sum of m: it is at least 1
//
// A pass that reads a formula walks from a value to an operand in which its op is linear, and so needs no list of ops.
// An op of a plug-in that implements the interface is treated like Cleave's own.
//
// Linearity alone could be found from the gradient (as in compiler/Sharding/Linearity.h): an op is linear in an operand
// if its vector-Jacobian product uses neither that operand nor the result. The factor cannot be found in this way, and
// counts are whole numbers, which have no gradient. A test compares both answers for all ops.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ALGEBRA_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ALGEBRA_H

#include "dialects/Cleave/IR/Cleave.h"

#include <optional>

namespace cleave {

// How the result depends on one operand: result = factor * (scale or 1 / scale) * S(operand). S moves elements, adds
// them up, or keeps those for which `condition` is `isWhere`.
struct LinearOperand {
  unsigned number = 0;
  double factor = 1;        // -1 for an operand that is subtracted
  mlir::Value scale;        // has the result's shape; null: none
  bool divides = false;     // by `scale`
  mlir::Value condition;    // if it is not `isWhere`, the result is zero; null: no condition
  bool isWhere = true;      // the value of `condition`
  bool sums = false;        // elements of the operand
  bool usesEachOnce = true; // every element goes into exactly one element of the result
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

// predicate(lhs, rhs), element by element.
struct ComparedValues {
  Predicate predicate;
  mlir::Value lhs, rhs;
};

// The slices of `table`, along one of its dimensions, at `indices`.
struct TableRead {
  mlir::Value table, indices;
};

// Returns `onResult` in the operand's shape. This is the answer of ops that keep elements in their order.
mlir::Value pullBackInShape(mlir::Operation *op, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value onResult,
                            unsigned number);

} // namespace cleave

#include "dialects/Cleave/IR/CleaveAlgebra.h.inc"

namespace cleave {

// Return the interface's answers; empty or null for an op without it.
llvm::SmallVector<LinearOperand, 2> linearOperands(mlir::Operation *op);
bool addsOperands(mlir::Operation *op);
// True if the op adds two operands, element by element. One or both may be subtracted; none has a scale or a condition.
bool addsTwoPlainly(mlir::Operation *op);
// True if it adds up all elements of the operand, without a factor or a condition.
bool isPlainSum(const LinearOperand &linear);
mlir::Value carriedOperand(mlir::Operation *op);
// Returns the carried operand if its bytes are the result's: the same elements under another shape (reshape). Loops
// leave out dimensions of size 1, and so do not say which dimension has become which; strides do.
mlir::Value reshapedOperand(mlir::Operation *op);
// Returns the value of which `value` is another shape, through all reshapes, or through those for which
// `passes(operand, result)` holds.
mlir::Value throughReshapes(mlir::Value value,
                            llvm::function_ref<bool(mlir::Value operand, mlir::Value result)> passes = nullptr);
llvm::SmallVector<NumberBound, 2> numberBounds(mlir::Operation *op);
bool drawsNumbers(mlir::Operation *op);
bool statesItsGroup(mlir::Operation *op, unsigned number);
std::optional<int64_t> joinedDim(mlir::Operation *op);
llvm::SmallVector<llvm::ArrayRef<int64_t>, 2> startsOf(mlir::Operation *op);
// The same, with `op` null for a value that no op makes.
std::optional<ComparedValues> comparisonOf(mlir::Operation *op);
llvm::SmallVector<mlir::Value, 2> choicesOf(mlir::Operation *op);
std::optional<int64_t> logProbabilityDim(mlir::Operation *op);
std::optional<int64_t> countedDim(mlir::Operation *op);
std::optional<TableRead> tableReadOf(mlir::Operation *op);

// Returns the value that has the same elements in the same order: through reshapes, and casts that keep numbers.
mlir::Value throughViews(mlir::Value value);
// Returns the one element that all elements of the value are copies of, as a value with the same number; or null.
mlir::Value getSpreadNumber(mlir::Value value);
// Returns the constant that all elements of the value are; nothing if it is not such a constant.
std::optional<double> getConstantNumber(mlir::Value value);

// Return the predicate for exchanged operands, and its opposite.
Predicate exchanged(Predicate predicate);
Predicate opposite(Predicate predicate);

// Attaches the interfaces. The dialect calls it when it is loaded.
void attachAlgebra(mlir::MLIRContext &context);

} // namespace cleave

#endif
