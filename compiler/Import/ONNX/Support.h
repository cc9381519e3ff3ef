// Helpers that the whole importer uses: one-line errors, checked sizes, name patterns.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_SUPPORT_H
#define CLEAVE_COMPILER_IMPORT_ONNX_SUPPORT_H

#include "compiler/Support/Error.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cleave::onnx_import {

using cleave::makeError;

// Collects errors, so that they are reported together, each on its line. What was added before is not added again.
class ErrorList {
public:
  void add(const llvm::Twine &text) { add(makeError(text)); }
  void add(llvm::Error error);
  bool empty() const { return errors_.empty(); }
  size_t size() const { return errors_.size(); }
  // Returns all errors, joined. After the 20th, only the number of the others is given.
  llvm::Error take();

private:
  std::vector<std::unique_ptr<llvm::ErrorInfoBase>> errors_;
  llvm::StringSet<> texts_; // of these errors
};

// The largest number of elements of one tensor of all data ranks together: 2^46. The scores of 128 heads over 8,192
// tokens have 2^43 elements for 1,024 samples. Products of sizes up to this limit do not overflow.
constexpr int64_t kMaxElements = int64_t(1) << 46;

// The largest number of dimensions, the same as numpy's.
constexpr int64_t kMaxRank = 64;
// The most elements of a tensor whose numbers may decide what is emitted. Larger tensors are data or tables.
constexpr int64_t kMostNumbers = 64;

// Returns the product of the sizes, or nullopt if a size is negative or the product exceeds kMaxElements. Sizes of 0
// count as 1 in this comparison, so the product of some dimensions of a tensor without elements is within the limit, too.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

// True if one of the patterns (compiler/Support/NamePatterns.h) matches.
bool matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name);

// Returns for example "[2, 3]". Only the first 16 sizes are shown.
std::string formatShape(llvm::ArrayRef<int64_t> shape);
// Returns a name from the file in a form that fits on one line of a message: quoted, UTF-8 unchanged, other bytes and
// control characters escaped as \xNN, cut after 80 bytes.
std::string quote(llvm::StringRef name);

// Returns the element type of an ONNX data type (`onnx::TensorProto::DataType`), or null if Cleave has none for it.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int dataType);
// Returns for example "FLOAT8E4M3FN (17)", for messages.
std::string dataTypeName(int dataType);
// Returns the bytes of one element in memory (i1 takes one byte).
int64_t elementBytes(mlir::Type element);

} // namespace cleave::onnx_import

#endif
