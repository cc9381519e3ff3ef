// A tensor whose value is known at import. It is used for shape arithmetic, scalars, axes, masks, and tensors of
// Constant nodes.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_LITERAL_H
#define CLEAVE_COMPILER_IMPORT_ONNX_LITERAL_H

#include "compiler/Import/ONNX/Support.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave::onnx_import {

using Shape = llvm::SmallVector<int64_t>;

// Elements are stored as in a weights file: little-endian, floating point rounded to the element type. Copies share the
// elements, and those of a Constant node are used in the file's own bytes. A splat stores one element for any shape, so
// that ConstantOfShape of a large shape costs nothing.
class Literal {
public:
  // Literals with more elements are not evaluated at import (a splat counts as one element).
  static constexpr int64_t kMaxElements = 1 << 16;

  Literal(mlir::Type element, llvm::ArrayRef<int64_t> shape);
  static Literal ofInts(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values);
  static Literal ofReals(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values);
  // Returns an i64 vector, the type of shapes.
  static Literal vector(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> values);
  // Creates a literal of little-endian bytes, whose number must match the type exactly. They are not copied, except for
  // truth values that are neither 0 nor 1. `owner` keeps the bytes alive. If it is null, the caller must.
  static Literal fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                           std::shared_ptr<const std::string> owner = nullptr);

  mlir::Type element() const { return element_; }
  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  int64_t rank() const { return int64_t(shape_.size()); }
  int64_t numElements() const { return *countElements(shape_); }
  bool isFloat() const { return bool(float_); }
  bool isBool() const { return element_.isInteger(1); }
  bool isSplat() const { return stored() == 1 && numElements() != 1; }

  // Return element i in row-major order. `asInt` truncates.
  int64_t asInt(int64_t i) const;
  double asReal(int64_t i) const;
  std::vector<int64_t> ints() const;

  // Append one element, rounded or wrapped to the element type.
  void push(double value);
  void push(int64_t value);
  // Appends elements [i, i + count) of another literal. If that is a splat, appends its element `count` times.
  void pushFrom(const Literal &other, int64_t i, int64_t count = 1);

  Literal withShape(llvm::ArrayRef<int64_t> shape) const;
  Literal withElement(mlir::Type element) const; // as ONNX Cast
  mlir::RankedTensorType type() const { return mlir::RankedTensorType::get(shape_, element_); }
  mlir::DenseElementsAttr attribute() const;
  // Returns the stored elements, which is one element for a splat. They live as long as `owner()`. If that is null, the
  // bytes belong to the file, or to the caller of fromBytes().
  llvm::StringRef bytes() const { return made_ ? llvm::StringRef(*made_) : view_; }
  std::shared_ptr<const std::string> owner() const { return made_ ? made_ : lender_; }

private:
  int64_t stored() const { return int64_t(bytes().size()) / width_; }
  const char *at(int64_t i) const { return bytes().data() + (stored() == 1 ? 0 : i * width_); }
  void append(llvm::StringRef bytes);

  mlir::Type element_;
  mlir::FloatType float_; // the element type if it is floating-point, else null
  int64_t width_;         // bytes of one element
  Shape shape_;
  llvm::StringRef view_;                      // elements that another object owns
  std::shared_ptr<const std::string> lender_; // the owner of `view_`; null: the file or the caller
  std::shared_ptr<std::string> made_;         // elements made here; shared by copies until one of them appends
};

} // namespace cleave::onnx_import

#endif
