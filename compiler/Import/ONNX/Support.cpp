#include "compiler/Import/ONNX/Support.h"
#include "compiler/Import/ONNX/File/Proto.h"
#include "compiler/Support/NamePatterns.h"
#include "runtime/base/Printable.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace cleave::onnx_import;

void ErrorList::add(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](std::unique_ptr<llvm::ErrorInfoBase> one) {
    if (texts_.insert(one->message()).second)
      errors_.push_back(std::move(one));
  });
}

llvm::Error ErrorList::take() {
  constexpr size_t limit = 20;
  llvm::Error result = llvm::Error::success();
  for (size_t i = 0; i < errors_.size() && i < limit; ++i)
    result = llvm::joinErrors(std::move(result), llvm::Error(std::move(errors_[i])));
  if (errors_.size() > limit)
    result =
        llvm::joinErrors(std::move(result), makeError("and " + llvm::Twine(errors_.size() - limit) + " more errors"));
  errors_.clear();
  texts_.clear();
  return result;
}

std::optional<int64_t> cleave::onnx_import::countElements(llvm::ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, std::max<int64_t>(size, 1), count) || count > kMaxElements)
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : count;
}

bool cleave::onnx_import::matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name) {
  return llvm::any_of(patterns, [&](const std::string &pattern) { return matchesNamePattern(pattern, name); });
}

std::string cleave::onnx_import::formatShape(llvm::ArrayRef<int64_t> shape) {
  constexpr size_t limit = 16;
  auto sizes = llvm::map_range(shape.take_front(limit), [](int64_t size) { return std::to_string(size); });
  return "[" + llvm::join(sizes, ", ") + (shape.size() > limit ? ", ...]" : "]");
}

std::string cleave::onnx_import::quote(llvm::StringRef name) {
  constexpr size_t kShown = 80;
  size_t end = std::min(name.size(), kShown);
  for (size_t back = 0; back < 3 && end < name.size() && cleave::rt::isContinuation(name[end]); ++back)
    --end; // do not cut a character
  return "'" + cleave::rt::printable(name.take_front(end)) + (end < name.size() ? "...'" : "'");
}

mlir::Type cleave::onnx_import::elementTypeOf(mlir::MLIRContext *context, int dataType) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> mlir::Type {
    return mlir::IntegerType::get(context, width,
                                  isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
  };
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return mlir::Float32Type::get(context);
  case onnx::TensorProto::DOUBLE:
    return mlir::Float64Type::get(context);
  case onnx::TensorProto::FLOAT16:
    return mlir::Float16Type::get(context);
  case onnx::TensorProto::BFLOAT16:
    return mlir::BFloat16Type::get(context);
  case onnx::TensorProto::INT64:
    return integer(64);
  case onnx::TensorProto::INT32:
    return integer(32);
  case onnx::TensorProto::INT16:
    return integer(16);
  case onnx::TensorProto::INT8:
    return integer(8);
  case onnx::TensorProto::UINT8:
    return integer(8, /*isUnsigned=*/true);
  case onnx::TensorProto::BOOL:
    return integer(1);
  default:
    return nullptr;
  }
}

std::string cleave::onnx_import::dataTypeName(int dataType) {
  static const char *const names[] = {"UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
                                      "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
                                      "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
                                      "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
                                      "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1"};
  bool known = dataType >= 0 && dataType < int(std::size(names));
  return std::string(known ? names[dataType] : "unknown") + " (" + std::to_string(dataType) + ")";
}

int64_t cleave::onnx_import::elementBytes(mlir::Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}
