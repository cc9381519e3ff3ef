// A small tensor whose value is known at import: shape arithmetic, scalars, axes, masks.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_LITERAL_H
#define CLEAVE_COMPILER_IMPORT_ONNX_LITERAL_H

#include "compiler/Import/ONNX/Support.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave::onnx_import {

using Shape = llvm::SmallVector<int64_t>;

// Integers and booleans are held as int64_t, floating point as double, rounded to the element type whenever it is
// stored. A splat holds one element for any shape, so that ConstantOfShape of a large shape costs nothing.
class Literal {
public:
  // More elements than this are not evaluated at import (a splat counts one).
  static constexpr int64_t kMaxElements = 1 << 16;

  Literal(mlir::Type element, llvm::ArrayRef<int64_t> shape) : element_(element), shape_(shape) {}
  static Literal ofInts(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values);
  static Literal ofReals(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values);
  // One i64 vector, as shapes are.
  static Literal vector(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> values);
  // Little-endian elements; `bytes` has the exact size.
  static Literal fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);

  mlir::Type element() const { return element_; }
  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  int64_t rank() const { return int64_t(shape_.size()); }
  int64_t numElements() const { return *countElements(shape_); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element_); }
  bool isBool() const { return element_.isInteger(1); }
  bool isSplat() const { return stored() == 1 && numElements() != 1; }

  // Element i in row-major order. `asInt` truncates.
  int64_t asInt(int64_t i) const;
  double asReal(int64_t i) const;
  std::vector<int64_t> ints() const;

  // Appends one element, rounded or wrapped to the element type.
  void push(double value);
  void push(int64_t value);
  // Appends element i of another literal.
  void pushFrom(const Literal &other, int64_t i);

  Literal withShape(llvm::ArrayRef<int64_t> shape) const;
  Literal withElement(mlir::Type element) const; // ONNX Cast
  mlir::RankedTensorType type() const { return mlir::RankedTensorType::get(shape_, element_); }
  mlir::DenseElementsAttr attribute() const;
  // Little-endian elements, as in a weights file.
  std::string bytes() const;

private:
  int64_t stored() const { return int64_t(isFloat() ? reals_.size() : ints_.size()); }
  int64_t slot(int64_t i) const { return stored() == 1 ? 0 : i; }

  mlir::Type element_;
  Shape shape_;
  std::vector<int64_t> ints_;
  std::vector<double> reals_;
};

} // namespace cleave::onnx_import

#endif
