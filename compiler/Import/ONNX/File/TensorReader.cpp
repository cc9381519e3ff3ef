#include "compiler/Import/ONNX/File/TensorReader.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using namespace cleave::onnx_import;

static llvm::Error wrongCount(int64_t actual, int64_t expected, llvm::StringRef what) {
  return makeError("it has " + llvm::Twine(actual) + " " + what + "; its shape and type take " + llvm::Twine(expected));
}

// Appends the low `width` bytes of every element, the encoding of raw_data.
template <typename Field> static void encode(const Field &field, int64_t width, std::string &out) {
  out.reserve(size_t(field.size()) * size_t(width));
  for (auto value : field)
    out.append(reinterpret_cast<const char *>(&value), size_t(width));
}

// Fails if int32_data has a number that the narrow type cannot hold. Half-precision numbers are stored as their bits.
static llvm::Error checkNarrow(const onnx::TensorProto &tensor) {
  int64_t low = 0, high = 0xffff;
  switch (tensor.data_type()) {
  case onnx::TensorProto::INT32:
    return llvm::Error::success();
  case onnx::TensorProto::BOOL:
    high = 1;
    break;
  case onnx::TensorProto::UINT8:
    high = UINT8_MAX;
    break;
  case onnx::TensorProto::INT8:
    low = INT8_MIN, high = INT8_MAX;
    break;
  case onnx::TensorProto::INT16:
    low = INT16_MIN, high = INT16_MAX;
    break;
  default:
    break;
  }
  for (int32_t value : tensor.int32_data())
    if (value < low || value > high)
      return makeError("its int32_data holds " + llvm::Twine(value) + "; " + dataTypeName(tensor.data_type()) +
                       " has " + llvm::Twine(low) + " to " + llvm::Twine(high));
  return llvm::Error::success();
}

llvm::Expected<llvm::ArrayRef<char>> TensorReader::typedField(const onnx::TensorProto &tensor, int64_t count,
                                                              int64_t width) {
  if (auto known = typed_.find(&tensor); known != typed_.end())
    return llvm::ArrayRef<char>(known->second->data(), known->second->size());
  auto bytes = std::make_shared<std::string>();
  auto take = [&](const auto &field) {
    if (field.size() == count)
      encode(field, width, *bytes);
    return int64_t(field.size());
  };
  int64_t stored = 0;
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    stored = take(tensor.float_data());
    break;
  case onnx::TensorProto::DOUBLE:
    stored = take(tensor.double_data());
    break;
  case onnx::TensorProto::INT64:
    stored = take(tensor.int64_data());
    break;
  default: // all narrow types use int32_data
    if (llvm::Error error = checkNarrow(tensor))
      return error;
    stored = take(tensor.int32_data());
  }
  if (stored != count)
    return wrongCount(stored, count, "elements");
  storage_.push_back(bytes);
  typed_[&tensor] = bytes;
  return llvm::ArrayRef<char>(bytes->data(), bytes->size());
}

llvm::Expected<mlir::RankedTensorType> TensorReader::typeOf(const onnx::TensorProto &tensor) {
  mlir::Type element = elementTypeOf(context_, tensor.data_type());
  if (!element)
    return makeError("its element type " + dataTypeName(tensor.data_type()) +
                     " is not supported; expected FLOAT, DOUBLE, FLOAT16, BFLOAT16, INT8 to INT64, UINT8 or BOOL");
  if (tensor.dims_size() > kMaxRank)
    return makeError("it has " + llvm::Twine(tensor.dims_size()) + " dimensions; at most " + llvm::Twine(kMaxRank) +
                     " are read");
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  auto count = countElements(shape);
  if (!count)
    return makeError(
        "its shape " + formatShape(shape) +
        " is negative somewhere or has more than 2^46 elements; save the model again, or correct the tensor's dims");
  if (tensor.has_segment())
    return makeError("it is stored in segments, which are not read; save it whole");
  return mlir::RankedTensorType::get(shape, element);
}

// Fails if the tensor has its values in several places, because another program could read the other one.
static llvm::Error checkOnePlace(const onnx::TensorProto &tensor) {
  bool isExternal = tensor.data_location() == onnx::TensorProto::EXTERNAL;
  std::pair<bool, llvm::StringRef> places[] = {
      {isExternal, "a file of its own"},
      {tensor.has_raw_data() && !(isExternal && tensor.raw_data().empty()), "raw_data"},
      {!tensor.float_data().empty(), "float_data"},
      {!tensor.double_data().empty(), "double_data"},
      {!tensor.int32_data().empty(), "int32_data"},
      {!tensor.int64_data().empty(), "int64_data"},
      {!tensor.uint64_data().empty(), "uint64_data"},
      {!tensor.string_data().empty(), "string_data"}};
  llvm::SmallVector<llvm::StringRef> found;
  for (auto [isThere, name] : places)
    if (isThere)
      found.push_back(name);
  if (found.size() > 1)
    return makeError("its values stand in " + llvm::join(found, " and in ") + "; expected one place");
  return llvm::Error::success();
}

llvm::Expected<WeightTensor> TensorReader::read(const onnx::TensorProto &tensor) {
  auto type = typeOf(tensor);
  if (!type)
    return type.takeError();
  if (llvm::Error error = checkOnePlace(tensor))
    return error;
  int64_t width = elementBytes(type->getElementType()), count = type->getNumElements(), size = count * width;
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    auto bytes = external_.find(tensor, size);
    if (!bytes)
      return bytes.takeError();
    return WeightTensor{*type, *bytes};
  }
  if (tensor.has_raw_data()) {
    if (int64_t(tensor.raw_data().size()) != size)
      return wrongCount(int64_t(tensor.raw_data().size()), size, "bytes");
    return WeightTensor{*type, llvm::ArrayRef<char>(tensor.raw_data().data(), tensor.raw_data().size())};
  }
  auto bytes = typedField(tensor, count, width);
  if (!bytes)
    return bytes.takeError();
  return WeightTensor{*type, *bytes};
}

llvm::Expected<Literal> TensorReader::readLiteral(const onnx::TensorProto &tensor) {
  auto weight = read(tensor);
  if (!weight)
    return weight.takeError();
  return Literal::fromBytes(weight->type, weight->bytes, typed_.lookup(&tensor));
}
