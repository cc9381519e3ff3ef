// Builds cleave ops. Result types follow from the operands, and numpy's broadcasting becomes explicit ops.
//
// Callers must have checked axes and shapes (OpContext has the checks), because the functions here cannot fail. All
// shapes are static.
//
// Tensors without elements are removed here. An op that joins, pads, sums or multiplies such a tensor becomes a
// constant, or an op without that operand. So the ops that compute empty tensors are dead, and no later phase sees a
// tensor without elements.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_EMITTER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_EMITTER_H

#include "compiler/Import/ONNX/Literal.h"
#include "dialects/Cleave/IR/Budget.h"
#include "dialects/Cleave/IR/Cleave.h"

namespace cleave::onnx_import {

using mlir::RankedTensorType;
using mlir::Value;

inline RankedTensorType typeOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()); }
inline llvm::ArrayRef<int64_t> shapeOf(Value value) { return typeOf(value).getShape(); }
inline int64_t rankOf(Value value) { return typeOf(value).getRank(); }
inline mlir::Type elementOf(Value value) { return typeOf(value).getElementType(); }
inline bool isEmpty(Value value) { return typeOf(value).getNumElements() == 0; }
inline bool isFloat(Value value) { return llvm::isa<mlir::FloatType>(elementOf(value)); }
// True for the element types that the dialect adds and compares: floating point and signed integers.
inline bool isSigned(Value value) {
  return isFloat(value) || (elementOf(value).isSignlessInteger() && !elementOf(value).isInteger(1));
}

// Broadcasts by numpy's rule. Returns nullopt if the shapes are not compatible, or if the result has too many elements
// (countElements).
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
// Returns the shape without the dimensions `dims`, or with size 1 in each of them.
Shape reducedShape(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims, bool keepDims);

class Emitter {
public:
  Emitter(mlir::OpBuilder builder)
      : builder(builder), budget(Budget::of(builder.getContext())), loc(builder.getUnknownLoc()) {}

  mlir::OpBuilder builder;
  Budget &budget;
  mlir::Location loc; // of the node being imported

  mlir::MLIRContext *context() { return builder.getContext(); }
  mlir::Type i64() { return builder.getI64Type(); }

  template <typename Op, typename... Args> Value make(mlir::Type type, Args &&...args) {
    budget.draw(Budget::Kind::Ops, 1);
    return Op::create(builder, loc, type, std::forward<Args>(args)...)->getResult(0);
  }
  template <typename Op> Value unary(Value a) { return make<Op>(a.getType(), a); }
  // The operands must have one element type, and equal shapes or shapes that numpy can broadcast.
  template <typename Op> Value binary(Value a, Value b) {
    alignShapes(a, b);
    return make<Op>(a.getType(), a, b);
  }
  template <typename Op> Value binary(Value a, double b) { return make<Op>(a.getType(), a, splat(b, typeOf(a))); }
  Value add(Value a, Value b) { return binary<AddOp>(a, b); }
  Value sub(Value a, Value b) { return binary<SubOp>(a, b); }
  Value mul(Value a, Value b) { return binary<MulOp>(a, b); }
  Value div(Value a, Value b) { return binary<DivOp>(a, b); }
  Value add(Value a, double b) { return binary<AddOp>(a, b); }
  Value mul(Value a, double b) { return binary<MulOp>(a, b); }
  Value div(Value a, double b) { return binary<DivOp>(a, b); }
  Value neg(Value a) { return unary<NegOp>(a); }
  Value compare(Predicate predicate, Value a, Value b);
  Value compare(Predicate predicate, Value a, double b) { return compare(predicate, a, splat(b, typeOf(a))); }
  // Broadcasts all three operands to one shape.
  Value select(Value condition, Value onTrue, Value onFalse);
  // These are selects, not max and min: if `a` equals the bound, `a` gets the whole gradient. A max would give it half.
  Value atLeast(Value a, Value low) { return select(compare(Predicate::Lt, a, low), low, a); }
  Value atMost(Value a, Value high) { return select(compare(Predicate::Gt, a, high), high, a); }
  Value atLeast(Value a, double low) { return atLeast(a, splat(low, typeOf(a))); }
  Value atMost(Value a, double high) { return atMost(a, splat(high, typeOf(a))); }
  Value cast(Value a, mlir::Type element);
  // Converts truth values and unsigned bytes to i32, which can represent all of them. Other values are not changed.
  Value asSigned(Value a) { return isSigned(a) ? a : cast(a, builder.getI32Type()); }

  Value literal(const Literal &value);
  // Returns a constant of this type whose elements are all `value`.
  Value splat(double value, RankedTensorType type);

  Value reshape(Value a, llvm::ArrayRef<int64_t> shape);
  Value transpose(Value a, llvm::ArrayRef<int64_t> permutation);
  Value broadcastTo(Value a, llvm::ArrayRef<int64_t> shape);
  // Broadcasts with explicit dimensions: operand dimension i becomes result dimension dims[i].
  Value broadcastDims(Value a, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  Value slice(Value a, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps);
  // Elements [start, start + size) of one dimension.
  Value sliceDim(Value a, int64_t dim, int64_t start, int64_t size);
  Value concat(llvm::ArrayRef<Value> parts, int64_t dim);
  Value pad(Value a, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value);
  Value iota(int64_t dim, RankedTensorType type);

  Value reduce(ReduceKind kind, Value a, llvm::ArrayRef<int64_t> dims, bool keepDims = false);
  // Returns the sum divided by a constant count. Losses are recognized by this form.
  Value mean(Value a, llvm::ArrayRef<int64_t> dims, bool keepDims = false);
  // Returns the square root of a sum of squares. Its gradient at 0 is 0.
  Value norm(Value squares);
  Value matmul(Value a, Value b, bool transposeA = false, bool transposeB = false);
  struct Normalized {
    Value result, mean, variance;
  };
  Normalized normalize(Value a, llvm::ArrayRef<int64_t> dims, double epsilon);
  Value softmax(Value a, int64_t dim) { return make<SoftmaxOp>(a.getType(), a, builder.getI64IntegerAttr(dim)); }
  Value logSoftmax(Value a, int64_t dim) { return make<LogSoftmaxOp>(a.getType(), a, builder.getI64IntegerAttr(dim)); }

private:
  void alignShapes(Value &a, Value &b);
};

} // namespace cleave::onnx_import

#endif
