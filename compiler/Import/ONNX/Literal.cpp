#include "compiler/Import/ONNX/Literal.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <limits>

using namespace cleave::onnx_import;

static llvm::APFloat toAPFloat(double value, mlir::FloatType type) {
  llvm::APFloat result(value);
  bool losesInfo;
  result.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

static double roundTo(double value, mlir::FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return double(float(value));
  llvm::APFloat rounded = toAPFloat(value, type);
  bool losesInfo;
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

static int64_t wrapTo(int64_t value, mlir::Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return value != 0;
  if (width == 64)
    return value;
  uint64_t low = uint64_t(value) & ((uint64_t(1) << width) - 1);
  bool negative = !type.isUnsignedInteger() && (low >> (width - 1));
  return negative ? int64_t(low | (~uint64_t(0) << width)) : int64_t(low);
}

// Out-of-range conversions saturate, NaN becomes 0: defined behaviour for whatever the file holds.
static int64_t truncate(double value) {
  if (std::isnan(value))
    return 0;
  constexpr double limit = 9223372036854775808.0; // 2^63
  if (value >= limit)
    return std::numeric_limits<int64_t>::max();
  return value < -limit ? std::numeric_limits<int64_t>::min() : int64_t(value);
}

void Literal::push(double value) {
  if (isFloat())
    reals_.push_back(roundTo(value, llvm::cast<mlir::FloatType>(element_)));
  else
    ints_.push_back(isBool() ? value != 0 : wrapTo(truncate(value), element_));
}

void Literal::push(int64_t value) {
  if (isFloat())
    push(double(value));
  else
    ints_.push_back(wrapTo(value, element_));
}

void Literal::pushFrom(const Literal &other, int64_t i) {
  if (other.isFloat())
    push(other.asReal(i));
  else
    push(other.asInt(i));
}

int64_t Literal::asInt(int64_t i) const { return isFloat() ? truncate(reals_[slot(i)]) : ints_[slot(i)]; }
double Literal::asReal(int64_t i) const { return isFloat() ? reals_[slot(i)] : double(ints_[slot(i)]); }

std::vector<int64_t> Literal::ints() const {
  std::vector<int64_t> values;
  for (int64_t i = 0, n = numElements(); i < n; ++i)
    values.push_back(asInt(i));
  return values;
}

Literal Literal::ofInts(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values) {
  Literal result(element, shape);
  for (int64_t value : values)
    result.push(value);
  return result;
}

Literal Literal::ofReals(mlir::Type element, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  Literal result(element, shape);
  for (double value : values)
    result.push(value);
  return result;
}

Literal Literal::vector(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> values) {
  return ofInts(mlir::IntegerType::get(context, 64), {int64_t(values.size())}, values);
}

static double decodeFloat(mlir::FloatType type, const char *bytes) {
  using llvm::support::endian::read64le, llvm::support::endian::read32le, llvm::support::endian::read16le;
  unsigned width = type.getWidth();
  uint64_t bits = width == 64 ? read64le(bytes) : width == 32 ? read32le(bytes) : read16le(bytes);
  llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(width, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static int64_t decodeInt(int64_t width, const char *bytes) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < width; ++i)
    bits |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return int64_t(bits);
}

Literal Literal::fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes) {
  Literal result(type.getElementType(), type.getShape());
  int64_t width = elementBytes(type.getElementType());
  auto floatType = llvm::dyn_cast<mlir::FloatType>(type.getElementType());
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    if (floatType)
      result.push(decodeFloat(floatType, bytes.data() + at));
    else
      result.push(decodeInt(width, bytes.data() + at));
  }
  return result;
}

Literal Literal::withShape(llvm::ArrayRef<int64_t> shape) const {
  Literal result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  return result;
}

Literal Literal::withElement(mlir::Type element) const {
  Literal result(element, shape_);
  for (int64_t i = 0, n = stored(); i < n; ++i)
    result.pushFrom(*this, i);
  return result;
}

mlir::DenseElementsAttr Literal::attribute() const {
  llvm::SmallVector<mlir::Attribute> values;
  for (int64_t i = 0, n = stored(); i < n; ++i) {
    if (auto floatType = llvm::dyn_cast<mlir::FloatType>(element_))
      values.push_back(mlir::FloatAttr::get(element_, toAPFloat(reals_[i], floatType)));
    else
      values.push_back(mlir::IntegerAttr::get(
          element_, llvm::APInt(element_.getIntOrFloatBitWidth(), uint64_t(ints_[i]), false, /*implicitTrunc=*/true)));
  }
  return mlir::DenseElementsAttr::get(type(), values);
}

std::string Literal::bytes() const {
  std::string bytes;
  int64_t width = elementBytes(element_);
  for (int64_t i = 0, n = numElements(); i < n; ++i) {
    uint64_t bits =
        isFloat() ? toAPFloat(reals_[slot(i)], llvm::cast<mlir::FloatType>(element_)).bitcastToAPInt().getZExtValue()
                  : uint64_t(ints_[slot(i)]);
    for (int64_t byte = 0; byte < width; ++byte)
      bytes += char(bits >> (8 * byte));
  }
  return bytes;
}
