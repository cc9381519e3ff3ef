// Maps files that contain tensors outside of the ONNX file, read-only.
//
// A model must not reach files that its user did not provide. So a location must be a relative path without `..`, no
// part of it may be a symbolic link, and the file must be a regular file with a single hard link. Files stay mapped,
// and nothing is copied.
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
  // `model` is the path of the ONNX file, which is no file of external data itself; empty if it was given as bytes.
  ExternalData(std::string directory, std::string model) : directory_(std::move(directory)), model_(std::move(model)) {}

  // Returns the `size` bytes that the tensor's `location`, `offset` and `length` name.
  llvm::Expected<llvm::ArrayRef<char>> find(const onnx::TensorProto &tensor, int64_t size);
  // Returns the mapped files. The caller must keep them as long as their bytes are used.
  std::vector<std::shared_ptr<llvm::MemoryBuffer>> files() const;

private:
  llvm::Expected<llvm::StringRef> map(llvm::StringRef location);

  std::string directory_, model_;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files_;
};

} // namespace cleave::onnx_import

#endif
