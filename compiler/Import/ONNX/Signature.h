// Inputs and outputs of the model, with every symbolic dimension bound.
//
// `--dim batch=8` binds a symbol, `--dim x:0=8` an anonymous dimension. The batch dimension is the one whose symbol
// stands in dimension 0 of the first input that has one there; its size is multiplied by the number of data ranks,
// wherever the symbol stands.
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
  std::string batchSymbol; // empty when there is no batch
  int64_t globalBatch = 0; // bound size times data ranks

  // The dimension of an output that the file declares to be the batch, where what is computed has that size.
  std::optional<int64_t> declaredBatchDim(const onnx::ValueInfoProto &output, mlir::RankedTensorType type) const;
  // Whether dimension 0 has the size of the batch. That may be a coincidence: a guess, which the caller has to confirm.
  bool mayHaveBatch(mlir::RankedTensorType type) const;
};

// All errors are added to `errors`; the result then is incomplete.
Signature bindSignature(mlir::MLIRContext *context, const ModelFile &file, const ImportOptions &options,
                        ErrorList &errors);

} // namespace cleave::onnx_import

#endif
