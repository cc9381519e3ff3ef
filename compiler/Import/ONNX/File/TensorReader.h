// Reads a TensorProto in any of its encodings (raw bytes, typed fields, external) as typed bytes. They are not copied
// if this is possible.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_TENSORREADER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_TENSORREADER_H

#include "compiler/Import/ONNX/File/ExternalData.h"
#include "compiler/Import/ONNX/File/Weights.h"
#include "compiler/Import/ONNX/Literal.h"

#include "llvm/ADT/DenseMap.h"

namespace cleave::onnx_import {

class TensorReader {
public:
  TensorReader(mlir::MLIRContext *context, ExternalData &external) : context_(context), external_(external) {}

  // Reads a tensor. The error does not name the tensor; callers must. The bytes live as long as the message, the
  // external files and `storage()`. A typed field is converted once, however often a loop reads it, so the message must
  // live as long as the reader.
  llvm::Expected<WeightTensor> read(const onnx::TensorProto &tensor);
  // Returns the tensor's type. No byte of external data is read.
  llvm::Expected<mlir::RankedTensorType> typeOf(const onnx::TensorProto &tensor);
  // Reads a small tensor of a Constant node or initializer.
  llvm::Expected<Literal> readLiteral(const onnx::TensorProto &tensor);
  mlir::MLIRContext *context() const { return context_; }
  // Bytes that had to be created, because the message stores the tensor in a typed field.
  const std::vector<std::shared_ptr<std::string>> &storage() const { return storage_; }

private:
  llvm::Expected<llvm::ArrayRef<char>> typedField(const onnx::TensorProto &tensor, int64_t count, int64_t width);

  mlir::MLIRContext *context_;
  ExternalData &external_;
  std::vector<std::shared_ptr<std::string>> storage_;
  llvm::DenseMap<const onnx::TensorProto *, std::shared_ptr<const std::string>> typed_;
};

} // namespace cleave::onnx_import

#endif
