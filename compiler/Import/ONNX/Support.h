// Small things that all of the importer uses: one-line errors, checked sizes, name patterns.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_SUPPORT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_SUPPORT_H

#include "compiler/Support/Error.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cleave::onnx_import {

using cleave::makeError;

// Errors are collected and reported together, each on its line.
class ErrorList {
public:
  void add(const llvm::Twine &text) { add(makeError(text)); }
  void add(llvm::Error error);
  bool empty() const { return errors_.empty(); }
  size_t size() const { return errors_.size(); }
  // All of them, joined; past the 20th only their number is given.
  llvm::Error take();

private:
  std::vector<std::unique_ptr<llvm::ErrorInfoBase>> errors_;
};

// The largest number of elements of one tensor, of all data ranks together: 2^46. The scores of 128 heads over 8,192 tokens
// are 2^43 for 1,024 samples; products of such tensors stay below overflow.
constexpr int64_t kMaxElements = int64_t(1) << 46;

// The largest number of dimensions, numpy's.
constexpr int64_t kMaxRank = 64;

// Product of the sizes; none when one is negative or it passes kMaxElements.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

// Whether one of the patterns (compiler/Support/NamePatterns.h) matches.
bool matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name);

// "[2, 3]"; of more than 16 sizes only the first.
std::string formatShape(llvm::ArrayRef<int64_t> shape);
// A name from the file, fit for one line of a message: quoted, UTF-8 as it is, other bytes and control characters
// escaped as \xNN, cut at 80 bytes.
std::string quote(llvm::StringRef name);

// The element type of an ONNX data type (`onnx::TensorProto::DataType`); null when Cleave has none for it.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int dataType);
// "FLOAT8E4M3FN (17)", for messages.
std::string dataTypeName(int dataType);
// Bytes of one element in memory (i1 takes one).
int64_t elementBytes(mlir::Type element);

} // namespace cleave::onnx_import

#endif
