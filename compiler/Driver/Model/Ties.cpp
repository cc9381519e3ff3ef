#include "compiler/Driver/Model/Ties.h"

#include "compiler/Support/Usage.h"
#include "compiler/Support/WireType.h"
#include "compiler/Training/States.h"
#include "runtime/base/Assignment.h"
#include "runtime/state/FloatConversion.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace cleave;

namespace {

// `tensor` is of a floating-point type, as parameters are.
std::vector<double> valuesOf(const WeightTensor &tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.type.getNumElements()));
  rt::convertElements(rt::elementType(*wireType(tensor.type.getElementType())),
                      reinterpret_cast<const std::byte *>(tensor.bytes.data()), rt::ElementType::f64,
                      reinterpret_cast<std::byte *>(values.data()), values.size());
  return values;
}

// Returns the largest difference of a's elements from b's elements at the indices that `at` returns. NaN equals only
// NaN.
template <typename At> double largestDifference(const std::vector<double> &a, const std::vector<double> &b, At at) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double other = b[at(i)];
    bool isEqual = a[i] == other || (std::isnan(a[i]) && std::isnan(other));
    double difference = isEqual ? 0 : std::fabs(a[i] - other);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

// Returns the values that the file has for the parameter, or null.
const WeightTensor *weightOf(mlir::ModuleOp module, const WeightMap &weights, llvm::StringRef name) {
  StateOp state = findParameter(module, name);
  return state ? weights.find(onlySegment(state).getName().getValue()) : nullptr;
}

llvm::Error checkTie(mlir::ModuleOp module, const WeightMap &weights, llvm::StringRef pair) {
  std::string keptName, tiedName;
  rt::splitAssignment(pair, &keptName, &tiedName);
  const WeightTensor *kept = weightOf(module, weights, keptName), *tied = weightOf(module, weights, tiedName);
  if (!kept || !tied || kept == tied || kept->type.getElementType() != tied->type.getElementType())
    return llvm::Error::success();
  bool isEqualShape = kept->type == tied->type, canTranspose = areTransposed(kept->type, tied->type);
  if (!isEqualShape && !canTranspose)
    return llvm::Error::success();
  if (isEqualShape && kept->bytes == tied->bytes) // almost always
    return llvm::Error::success();
  std::vector<double> a = valuesOf(*kept), b = valuesOf(*tied);
  double difference = 0;
  if (isEqualShape) {
    difference = largestDifference(a, b, [](size_t i) { return i; });
  } else {
    size_t rows = static_cast<size_t>(kept->type.getDimSize(0)),
           columns = static_cast<size_t>(kept->type.getDimSize(1));
    difference = largestDifference(a, b, [=](size_t i) { return i % columns * rows + i / columns; });
  }
  if (difference == 0)
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", difference);
  return usageError("--tie",
                    "'" + keptName + "' and '" + tiedName + "' are not one weight: their largest difference is " +
                        text + (isEqualShape ? "" : " (one transposed)") +
                        "; parameters are tied that hold equal values, or transposed ones where shapes differ");
}

} // namespace

llvm::Error cleave::checkTies(mlir::ModuleOp module, const WeightMap &weights, llvm::ArrayRef<std::string> pairs) {
  for (llvm::StringRef pair : pairs)
    if (llvm::Error error = checkTie(module, weights, pair))
      return error;
  return llvm::Error::success();
}
