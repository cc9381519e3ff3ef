#include "compiler/Import/ONNX/Literal.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
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

// Truncates to 64 bits. Out-of-range values saturate and NaN becomes 0, so that the behavior is defined for every file.
static int64_t truncate(double value) {
  if (std::isnan(value))
    return 0;
  constexpr double limit = 9223372036854775808.0; // 2^63
  if (value >= limit)
    return std::numeric_limits<int64_t>::max();
  return value < -limit ? std::numeric_limits<int64_t>::min() : int64_t(value);
}

// Saturates to the type's own range, as the same cast does at run time.
static int64_t saturate(double value, mlir::Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 64)
    return truncate(value);
  bool isUnsigned = type.isUnsignedInteger();
  int64_t low = isUnsigned ? 0 : -(int64_t(1) << (width - 1)),
          high = (int64_t(1) << (width - (isUnsigned ? 0 : 1))) - 1;
  return std::clamp(truncate(value), low, high);
}

static double decodeFloat(mlir::FloatType type, const char *bytes) {
  using llvm::support::endian::read64le, llvm::support::endian::read32le, llvm::support::endian::read16le;
  if (type.isF32())
    return double(llvm::bit_cast<float>(read32le(bytes)));
  if (type.isF64())
    return llvm::bit_cast<double>(read64le(bytes));
  llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(16, read16le(bytes)));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static uint64_t encodeFloat(mlir::FloatType type, double value) {
  if (type.isF32())
    return llvm::bit_cast<uint32_t>(float(value));
  if (type.isF64())
    return llvm::bit_cast<uint64_t>(value);
  return toAPFloat(value, type).bitcastToAPInt().getZExtValue();
}

static uint64_t decodeBits(int64_t width, const char *bytes) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < width; ++i)
    bits |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return bits;
}

Literal::Literal(mlir::Type element, llvm::ArrayRef<int64_t> shape)
    : element_(element), float_(llvm::dyn_cast<mlir::FloatType>(element)), width_(elementBytes(element)),
      shape_(shape) {}

void Literal::append(llvm::StringRef bytes) {
  if (!made_ || made_.use_count() > 1)
    made_ = std::make_shared<std::string>(this->bytes());
  made_->append(bytes.data(), bytes.size());
}

static void appendBits(uint64_t bits, int64_t width, llvm::function_ref<void(llvm::StringRef)> append) {
  char bytes[8];
  llvm::support::endian::write64le(bytes, bits);
  append(llvm::StringRef(bytes, size_t(width)));
}

void Literal::push(double value) {
  if (!float_)
    return push(isBool() ? int64_t(value != 0) : saturate(value, element_));
  appendBits(encodeFloat(float_, value), width_, [&](llvm::StringRef bytes) { append(bytes); });
}

void Literal::push(int64_t value) {
  if (float_)
    return push(double(value));
  appendBits(uint64_t(wrapTo(value, element_)), width_, [&](llvm::StringRef bytes) { append(bytes); });
}

void Literal::pushFrom(const Literal &other, int64_t i, int64_t count) {
  if (other.element_ == element_ && other.stored() != 1)
    return append(llvm::StringRef(other.at(i), size_t(count * width_)));
  for (; count > 0; --count, ++i) {
    if (other.element_ == element_)
      append(llvm::StringRef(other.at(i), size_t(width_)));
    else if (other.isFloat())
      push(other.asReal(i));
    else
      push(other.asInt(i));
  }
}

int64_t Literal::asInt(int64_t i) const {
  return float_ ? truncate(decodeFloat(float_, at(i))) : wrapTo(int64_t(decodeBits(width_, at(i))), element_);
}
double Literal::asReal(int64_t i) const { return float_ ? decodeFloat(float_, at(i)) : double(asInt(i)); }

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

Literal Literal::fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                           std::shared_ptr<const std::string> owner) {
  Literal result(type.getElementType(), type.getShape());
  if (result.isBool() && llvm::any_of(bytes, [](char byte) { return byte != 0 && byte != 1; })) {
    for (char byte : bytes)
      result.push(int64_t(byte != 0));
    return result;
  }
  result.view_ = llvm::StringRef(bytes.data(), bytes.size());
  result.lender_ = std::move(owner);
  return result;
}

Literal Literal::withShape(llvm::ArrayRef<int64_t> shape) const {
  Literal result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  return result;
}

Literal Literal::withElement(mlir::Type element) const {
  Literal result(element, shape_);
  if (element == element_)
    return *this;
  for (int64_t i = 0, n = stored(); i < n; ++i)
    result.pushFrom(*this, i);
  return result;
}

mlir::DenseElementsAttr Literal::attribute() const {
  if (!isBool())
    return mlir::DenseElementsAttr::getFromRawBuffer(type(), llvm::ArrayRef<char>(bytes().data(), bytes().size()));
  llvm::SmallVector<bool> values;
  for (char byte : bytes())
    values.push_back(byte != 0);
  return mlir::DenseElementsAttr::get(type(), llvm::ArrayRef<bool>(values));
}
