// Short names for tensor arithmetic. Every function builds one op (or none) at the builder's insertion point.
//
//   Arithmetic a(builder, loc);
//   Value unbiased = a.div(a.cast(m, f64), a.sub(a.scalar(f64, 1), a.pow(beta, step)));
#ifndef CLEAVE_COMPILER_TRAINING_ARITHMETIC_H
#define CLEAVE_COMPILER_TRAINING_ARITHMETIC_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

class Arithmetic {
public:
  using Value = mlir::Value;

  Arithmetic(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  Value splat(mlir::RankedTensorType type, double value);
  Value scalar(mlir::Type elementType, double value) {
    return splat(mlir::RankedTensorType::get({}, elementType), value);
  }

  Value add(Value x, Value y) { return AddOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return SubOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return MulOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return DivOp::create(b, loc, x, y); }
  Value pow(Value x, Value y) { return PowOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return MaxOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return MinOp::create(b, loc, x, y); }
  Value neg(Value x) { return NegOp::create(b, loc, x); }
  Value sqrt(Value x) { return SqrtOp::create(b, loc, x); }
  Value abs(Value x) { return AbsOp::create(b, loc, x); }
  Value sign(Value x) { return SignOp::create(b, loc, x); } // -1, 0 or 1
  Value compare(Predicate predicate, Value x, Value y) { return CompareOp::create(b, loc, predicate, x, y); }
  Value select(Value condition, Value x, Value y) { return SelectOp::create(b, loc, condition, x, y); }
  Value mask(Value x, Value y) { return AndOp::create(b, loc, x, y); }

  // x times a number, and x plus a number. They return x itself for the factor 1 and the term 0.
  Value scale(Value x, double factor);
  Value shift(Value x, double term);
  // Changes the element type. Returns x itself if it has that type.
  Value cast(Value x, mlir::Type elementType);
  // Broadcasts the scalar x to a shape, in the shape's element type.
  Value spread(Value x, mlir::RankedTensorType type);
  Value spread(Value x, Value like) { return spread(x, llvm::cast<mlir::RankedTensorType>(like.getType())); }
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape);
  // Elements [start, start + size) of a vector.
  Value slice(Value x, int64_t start, int64_t size);
  // For every element of a vector of that size: true if its index is less than `end`.
  Value isBefore(int64_t end, mlir::RankedTensorType type);
  // The sum over all dimensions, or over `dims`.
  Value sum(Value x);
  Value sum(Value x, llvm::ArrayRef<int64_t> dims);
  // A constant vector of i64.
  Value table(llvm::ArrayRef<int64_t> values);
  // For every element of a tensor of that shape: its index in dimension `dim`, in i64.
  Value index(llvm::ArrayRef<int64_t> shape, int64_t dim);
  // The vector x along dimension `dim` of that shape, repeated along the other dimensions.
  Value along(Value x, int64_t dim, llvm::ArrayRef<int64_t> shape);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

// Returns the type in which values of `elementType` are summed and updated: at least f32.
mlir::Type accumulationType(mlir::Type elementType);

} // namespace cleave

#endif
