// Reads the inputs and outputs of the model, and binds every symbolic dimension to a size.
//
// `--dim batch=8` binds a symbol, and `--dim x:0=8` an anonymous dimension. The batch dimension's symbol is the one in
// dimension 0 of the first input that has a symbol there, unless --batch-dim names another one, or several that are one
// dimension. If other symbols could be meant, a note says which one is taken. Its size is multiplied by the number of
// data ranks wherever the symbol occurs.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_SIGNATURE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_SIGNATURE_H

#include "compiler/Import/ONNX/File/ModelFile.h"
#include "compiler/Import/ONNX/Importer.h"

#include "mlir/IR/BuiltinTypes.h"

namespace cleave::onnx_import {

struct Port {
  std::string name;
  mlir::RankedTensorType type;
  std::optional<int64_t> batchDim;
};

struct Signature {
  std::vector<Port> inputs;
  std::string batchSymbol; // empty: the model has no batch
  std::vector<std::string> batchNames; // those of --batch-dim; the first is the symbol
  std::string batchGuess;  // a note, if another symbol could be the batch
  int64_t globalBatch = 0; // bound size times data ranks

  // True if the file calls the batch by this name, in some input.
  bool isBatch(llvm::StringRef name) const;
  // Returns the dimension that the file declares to be the batch of this output. Returns nullopt if there is none, or
  // if the computed dimension does not have the size of the batch.
  std::optional<int64_t> declaredBatchDim(const onnx::ValueInfoProto &output, mlir::RankedTensorType type) const;
  // True if dimension 0 has the size of the batch. This may be a coincidence, so the caller must confirm it.
  bool mayHaveBatch(mlir::RankedTensorType type) const;
};

// Errors are added to `errors`; the result is then incomplete.
Signature bindSignature(mlir::MLIRContext *context, const ModelFile &file, const ImportOptions &options,
                        ErrorList &errors);

} // namespace cleave::onnx_import

#endif
