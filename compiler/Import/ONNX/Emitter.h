// Builds cleave ops with result types that follow from the operands, and numpy's broadcasting made explicit.
//
// Callers have checked axes and shapes (OpContext says how); nothing here fails. Shapes are static throughout.
//
// Tensors without elements are computed here: what joins, pads, sums or multiplies them is a constant, or does without
// them. So the ops that make them are dead, and nothing after the importer meets a tensor without elements.
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
// Elements that the dialect adds and compares: floating point and signed integers.
inline bool isSigned(Value value) {
  return isFloat(value) || (elementOf(value).isSignlessInteger() && !elementOf(value).isInteger(1));
}

// numpy's rule; none when the shapes do not go together.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
// The shape without `dims`, or with 1 in their place.
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
  // Equal types, or numpy-broadcastable shapes of one element type.
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
  // Broadcasts all three.
  Value select(Value condition, Value onTrue, Value onFalse);
  // Clamping, not max and min: where `a` is the bound itself, `a` has the whole gradient (PyTorch's clamp), not half.
  Value atLeast(Value a, Value low) { return select(compare(Predicate::Lt, a, low), low, a); }
  Value atMost(Value a, Value high) { return select(compare(Predicate::Gt, a, high), high, a); }
  Value atLeast(Value a, double low) { return atLeast(a, splat(low, typeOf(a))); }
  Value atMost(Value a, double high) { return atMost(a, splat(high, typeOf(a))); }
  Value cast(Value a, mlir::Type element);
  // Truth values and bytes without sign as i32, which holds them all.
  Value asSigned(Value a) { return isSigned(a) ? a : cast(a, builder.getI32Type()); }

  Value literal(const Literal &value);
  // A constant of this type with all elements equal.
  Value splat(double value, RankedTensorType type);

  Value reshape(Value a, llvm::ArrayRef<int64_t> shape);
  Value transpose(Value a, llvm::ArrayRef<int64_t> permutation);
  Value broadcastTo(Value a, llvm::ArrayRef<int64_t> shape);
  // Broadcast that says where the dimensions go: operand dimension i becomes dims[i].
  Value broadcastDims(Value a, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  Value slice(Value a, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps);
  // Elements [start, start + size) of one dimension.
  Value sliceDim(Value a, int64_t dim, int64_t start, int64_t size);
  Value concat(llvm::ArrayRef<Value> parts, int64_t dim);
  Value pad(Value a, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value);
  Value iota(int64_t dim, RankedTensorType type);

  Value reduce(ReduceKind kind, Value a, llvm::ArrayRef<int64_t> dims, bool keepDims = false);
  // sum / constant count: the form in which losses are recognized.
  Value mean(Value a, llvm::ArrayRef<int64_t> dims, bool keepDims = false);
  // The root of a sum of squares; the gradient at 0 is 0.
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
