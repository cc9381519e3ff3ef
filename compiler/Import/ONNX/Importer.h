// Reads an ONNX file into the `cleave` dialect at the model level (dialects/Cleave/IR/Rationale.md).
//
// The file is untrusted. Every defect is an llvm::Error of one line that names the thing, says what was expected, and
// what would help. All operators that the importer does not know are reported together. The steps are, in order:
//   1. ModelFile     parses the protobuf, checks versions;
//   2. FlatGraph     inlines model-local functions, checks names, sorts nodes;
//   3. Signature     binds symbolic dimensions, so that every type is static;
//   4. Initializers  become states (weights stay mapped) or small literals;
//   5. FunctionImporter  imports the nodes once for each function: it evaluates what is known (so shape arithmetic
//      disappears), and calls the handler of (domain, op, since-version) for the rest.
//
// Example: `y = Relu(Gemm(x, w, b))` with `--dim batch=4` becomes
//   cleave.state @w : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [...]}
//   func.func @model(%x: tensor<4x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64})
//       -> (tensor<4x8xf32> {cleave.name = "y", ...})
//
// Rejected: onnx-mlir's dialect as an intermediate step. It would be a second set of 200 ops, only to be lowered again.
// Rejected: libonnx's shape inference. Debian's version knows opset 17 at most, and here every type follows from the
// emitted op.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_IMPORTER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_IMPORTER_H

#include "compiler/Import/ONNX/File/Weights.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace cleave {

namespace onnx_import {
struct Decisions;
}

struct ImportOptions {
  // Symbolic dimension -> size (`batch` -> 8). The name of an anonymous dimension is its input and index: `x:0`.
  llvm::StringMap<int64_t> dims;
  // The size of the batch dimension, whatever its name is; nullopt: the size is in `dims`.
  std::optional<int64_t> boundBatch;
  // True: import `@model` in training mode and `@model.eval` in inference mode. False: import `@model` in inference
  // mode.
  bool train = false;
  // The output to be minimized. If it is empty, the loss is the output named `loss`, or the only scalar floating-point
  // output.
  std::string lossOutput;
  // `cross-entropy`, `nll` or `mse`: adds an input `labels` and a result `loss`, which is computed from the first
  // output and the labels. The first two ignore labels that equal `ignoredLabel` (nullopt: every label is a class).
  // Their classes are in dimension `lossClassDim` of the output (nullopt: in the one that classDimOf returns,
  // Operators/Loss.h).
  std::string loss;
  std::optional<int64_t> ignoredLabel = -100, lossClassDim;
  // The factor of every batch dimension, so that types are those of the global micro-batch.
  int64_t dataRanks = 1;
  // The number of groups of samples that batch norm normalizes separately: 1 (`sync`), dataRanks (`local`), 0: no
  // groups (`frozen`).
  int64_t batchNormGroups = 1;
  // Name patterns (* and ?) of initializers that are buffers, and of parameters that are not updated.
  std::vector<std::string> buffers, freeze;
  // Initial values of parameters, in place of the file's: "[PATTERN=]KIND(...)" (InitRules.h).
  std::vector<std::string> init;
  // Pairs KEPT=TIED of parameters that are one tensor (the pass tie-parameters joins them), so that what an option says of
  // one name holds for both.
  std::vector<std::string> tie;
  // True: ops inside of an operator are marked (InnerValues.h), which the phase of precision needs if it uses a narrow
  // type. Marked ops are not merged with others, so nothing is marked without need.
  bool marksInnerValues = false;
  // A factor for the limits of dialects/Cleave/IR/Budget.h.
  uint64_t budget = 1;
  // The symbol of the batch dimension, or several between commas, which are one dimension. If it is empty, the symbol
  // is that of dimension 0 of the first input that has a symbol there.
  std::string batchDim;
  // Outputs that have no batch dimension, although the size of their dimension 0 is that of the batch.
  std::vector<std::string> wholeOutputs;
};

// A parsed file (Importer.cpp).
struct ModelSource;

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  // The tensors that `#cleave.init<weights>` names, under their original names.
  WeightMap weights;
  // Files of external data that contain weights, relative to the model's directory.
  std::vector<std::string> externalFiles;
  // What the graph computes, apart from the values of its initializers (File/GraphHash.h).
  std::string graphHash;
  // True if the graph has a BatchNormalization in any form.
  bool hasBatchNorm = false;
  // Outputs whose dimension 0 is assumed to be the batch because it has that size. The file does not declare it.
  std::vector<std::string> guessedBatch;
  // Notes for the user, for example about duplicate parameters, dropout that the exporter removed, or names that became
  // constants.
  std::vector<std::string> notes;
  // What makes it likely that another model is trained than the user wants.
  std::vector<std::string> warnings;
  // Numbers that were compared or rounded (SizeDecisions.h). Not recorded if the model is trained.
  std::shared_ptr<const onnx_import::Decisions> decisions;
  // The file, for importAgain().
  std::shared_ptr<const ModelSource> source;
};

// Reads and imports a file. The cleave and func dialects must be loaded in `context`.
llvm::Expected<ImportedModel> importONNX(mlir::MLIRContext &context, llvm::StringRef path,
                                         const ImportOptions &options);

// Imports a model from bytes in memory; tests and the fuzzer use it. External data are searched in `directory`, and
// refused if that is empty.
llvm::Expected<ImportedModel> importONNXFromMemory(mlir::MLIRContext &context, llvm::StringRef bytes,
                                                   llvm::StringRef directory, const ImportOptions &options);

// Imports the graph of `model`'s file again with other options, for example with other sizes. The file is neither read
// nor parsed again.
llvm::Expected<ImportedModel> importAgain(mlir::MLIRContext &context, const ImportedModel &model,
                                          const ImportOptions &options);

} // namespace cleave

#endif
