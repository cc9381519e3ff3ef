// A tensor whose value is known at import: shape arithmetic, scalars, axes, masks, the tensors of Constant nodes.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_LITERAL_H
#define CLEAVE_COMPILER_IMPORT_ONNX_LITERAL_H

#include "compiler/Import/ONNX/Support.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave::onnx_import {

using Shape = llvm::SmallVector<int64_t>;

// Elements are held as in a weights file: little-endian, so that floating point is rounded to the element type whenever
// it is stored. Copies share them, and a Constant node's lie where the file has them. A splat holds one element for any
// shape, so that ConstantOfShape of a large shape costs nothing.
class Literal {
public:
  // More elements than this are not evaluated at import (a splat counts one).
  static constexpr int64_t kMaxElements = 1 << 16;

  Literal(mlir::Type element, llvm::ArrayRef<int64_t> shape);
  static Literal ofInts(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values);
  static Literal ofReals(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values);
  // One i64 vector, as shapes are.
  static Literal vector(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> values);
  // Little-endian elements of the type's exact size. They are not copied (truth values that are neither 0 nor 1 are):
  // `owner` keeps them, or the caller does when it is null.
  static Literal fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                           std::shared_ptr<const std::string> owner = nullptr);

  mlir::Type element() const { return element_; }
  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  int64_t rank() const { return int64_t(shape_.size()); }
  int64_t numElements() const { return *countElements(shape_); }
  bool isFloat() const { return bool(float_); }
  bool isBool() const { return element_.isInteger(1); }
  bool isSplat() const { return stored() == 1 && numElements() != 1; }

  // Element i in row-major order. `asInt` truncates.
  int64_t asInt(int64_t i) const;
  double asReal(int64_t i) const;
  std::vector<int64_t> ints() const;

  // Appends one element, rounded or wrapped to the element type.
  void push(double value);
  void push(int64_t value);
  // Appends elements [i, i + count) of another literal; of a splat, its element `count` times.
  void pushFrom(const Literal &other, int64_t i, int64_t count = 1);

  Literal withShape(llvm::ArrayRef<int64_t> shape) const;
  Literal withElement(mlir::Type element) const; // ONNX Cast
  mlir::RankedTensorType type() const { return mlir::RankedTensorType::get(shape_, element_); }
  mlir::DenseElementsAttr attribute() const;
  // The elements, or the one of a splat. They live as long as `owner`, or as the file when that is null.
  llvm::StringRef bytes() const { return made_ ? llvm::StringRef(*made_) : view_; }
  std::shared_ptr<const std::string> owner() const { return made_ ? made_ : lender_; }

private:
  int64_t stored() const { return int64_t(bytes().size()) / width_; }
  const char *at(int64_t i) const { return bytes().data() + (stored() == 1 ? 0 : i * width_); }
  void append(llvm::StringRef bytes);

  mlir::Type element_;
  mlir::FloatType float_; // the element type, if it is one
  int64_t width_;         // of an element, in bytes
  Shape shape_;
  llvm::StringRef view_;                      // elements that somebody else owns:
  std::shared_ptr<const std::string> lender_; // who
  std::shared_ptr<std::string> made_;         // elements made here; copies share them until one of them appends
};

} // namespace cleave::onnx_import

#endif
