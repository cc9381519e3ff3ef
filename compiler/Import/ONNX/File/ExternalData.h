// Files that hold tensors outside of the ONNX file, mapped read-only.
//
// A model must not reach files that its user did not hand over: the location is one relative path without `..`, no part
// of it is a symbolic link, and the file is a regular one with a single hard link. The file stays mapped; nothing is
// copied.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXTERNALDATA_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXTERNALDATA_H

#include "compiler/Import/ONNX/File/Proto.h"
#include "compiler/Import/ONNX/Support.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace cleave::onnx_import {

class ExternalData {
public:
  explicit ExternalData(std::string directory) : directory_(std::move(directory)) {}

  // The `size` bytes that the tensor's `location`, `offset` and `length` name.
  llvm::Expected<llvm::ArrayRef<char>> find(const onnx::TensorProto &tensor, int64_t size);
  // The mapped files, to be kept as long as their bytes are used.
  std::vector<std::shared_ptr<llvm::MemoryBuffer>> files() const;

private:
  llvm::Expected<llvm::StringRef> map(llvm::StringRef location);

  std::string directory_;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files_;
};

} // namespace cleave::onnx_import

#endif
