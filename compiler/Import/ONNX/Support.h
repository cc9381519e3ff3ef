// Small things that all of the importer uses: one-line errors, checked sizes, name patterns.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_SUPPORT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_SUPPORT_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cleave::onnx_import {

// An error with this text.
inline llvm::Error makeError(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

// Errors are collected and reported together, each on its line.
class ErrorList {
public:
  void add(const llvm::Twine &text) { lines_.push_back(text.str()); }
  void add(llvm::Error error) { add(llvm::toString(std::move(error))); }
  bool empty() const { return lines_.empty(); }
  // All lines as one error; past the 20th only their number is given.
  llvm::Error take();

private:
  std::vector<std::string> lines_;
};

// The largest number of elements of one tensor: 2^40, far above what any machine holds and far below overflow.
constexpr int64_t kMaxElements = int64_t(1) << 40;

// Product of the sizes; none when one is negative or it passes kMaxElements.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

// `*` stands for any characters, `?` for one.
bool matchesPattern(llvm::StringRef pattern, llvm::StringRef name);
bool matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name);

// "[2, 3]"
std::string formatShape(llvm::ArrayRef<int64_t> shape);
// A name from the file, fit for a message: quoted, control characters replaced, cut at 80.
std::string quote(llvm::StringRef name);

// The element type of an ONNX data type (`onnx::TensorProto::DataType`); null when Cleave has none for it.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int dataType);
// "FLOAT8E4M3FN (17)", for messages.
std::string dataTypeName(int dataType);
// Bytes of one element in memory (i1 takes one).
int64_t elementBytes(mlir::Type element);

} // namespace cleave::onnx_import

#endif
