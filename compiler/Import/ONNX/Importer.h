// Reads an ONNX file into the `cleave` dialect at the model level (dialects/Cleave/IR/Rationale.md).
//
// The file is untrusted: every defect is an llvm::Error of one line that names the thing, says what was expected and
// what would do. What the importer does not know is reported all at once. In order:
//   1. ModelFile     parses the protobuf, checks versions;
//   2. FlatGraph     inlines model-local functions, checks names, sorts nodes;
//   3. Signature     binds symbolic dimensions, so that every type is static;
//   4. Initializers  become states (weights stay mapped) or small literals;
//   5. FunctionImporter  walks the nodes once for each function: it evaluates what is known (shape arithmetic
//      vanishes) and calls the handler of (domain, op, since-version) for the rest.
//
// Example: `y = Relu(Gemm(x, w, b))` with `--dim batch=4` becomes
//   cleave.state @w : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [...]}
//   func.func @model(%x: tensor<4x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64})
//       -> (tensor<4x8xf32> {cleave.name = "y", ...})
//
// Rejected: onnx-mlir's dialect as a step between (a second op set of 200 ops to keep, only to lower it again), and
// libonnx's shape inference (Debian's knows opset 17 at most; here every type follows from the emitted op).
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
  // Symbolic dimension -> size (`batch` -> 8). An anonymous dimension is named by input and index: `x:0`.
  llvm::StringMap<int64_t> dims;
  // The size of the batch dimension, whatever its name; none: `dims` has it.
  std::optional<int64_t> boundBatch;
  // `@model` in training mode, `@model.eval` beside it in inference mode; otherwise `@model` in inference mode alone.
  bool train = false;
  // The output to be minimized. Empty: the output called `loss`, or the only scalar floating-point one.
  std::string lossOutput;
  // `cross-entropy`, `nll` or `mse`: adds an input `labels`, and a result `loss` computed from the first output and
  // them. The first two do not count labels that are `ignoredLabel` (none: every label is a class); their classes lie
  // in `lossClassDim` of the output (none: in that of classDimOf, Operators/Loss.h).
  std::string loss;
  std::optional<int64_t> ignoredLabel = -100, lossClassDim;
  // Every batch dimension is multiplied by it: types are those of the global micro-batch.
  int64_t dataRanks = 1;
  // Groups of samples over each of which batch norm normalizes: 1 (`sync`), dataRanks (`local`), 0: none (`frozen`).
  int64_t batchNormGroups = 1;
  // Name patterns (* and ?): initializers that are buffers, and parameters that are not updated.
  std::vector<std::string> buffers, freeze;
  // Initial values that parameters get in the place of the file's: "[PATTERN=]KIND(...)" (InitRules.h).
  std::vector<std::string> init;
  // Whether ops inside of an operator are marked (InnerValues.h): precision asks where it is to be narrow. Marked ops
  // are not merged with others, so that without it nothing is marked.
  bool marksInnerValues = false;
  // What multiplies the limits of dialects/Cleave/IR/Budget.h.
  uint64_t budget = 1;
  // The symbol of the batch dimension; empty: that of dimension 0 of the first input which has one there.
  std::string batchDim;
  // Outputs without a batch dimension, though dimension 0 has the size of the batch.
  std::vector<std::string> wholeOutputs;
};

// A file as it was read (Importer.cpp).
struct ModelSource;

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  // What `#cleave.init<weights>` names, under original names.
  WeightMap weights;
  // Files of external data that weights lie in, relative to the model's directory.
  std::vector<std::string> externalFiles;
  // Whether the graph has BatchNormalization, in which form ever.
  bool hasBatchNorm = false;
  // Outputs whose dimension 0 is taken for the batch because it has that size: the file does not declare it.
  std::vector<std::string> guessedBatch;
  // For the user: duplicate parameters, dropout that the exporter removed, names taken as constants.
  std::vector<std::string> notes;
  // Numbers that were compared and rounded (SizeDecisions.h); none where the model is trained.
  std::shared_ptr<const onnx_import::Decisions> decisions;
  // What importAgain needs.
  std::shared_ptr<const ModelSource> source;
};

// `context` must have the cleave and func dialects loaded.
llvm::Expected<ImportedModel> importONNX(mlir::MLIRContext &context, llvm::StringRef path,
                                         const ImportOptions &options);

// The same for bytes in memory, as tests and the fuzzer make them; external data are looked for in `directory` and
// refused when that is empty.
llvm::Expected<ImportedModel> importONNXFromMemory(mlir::MLIRContext &context, llvm::StringRef bytes,
                                                   llvm::StringRef directory, const ImportOptions &options);

// The graph of `model`'s file once more, with other options: with other sizes its types are others, and so is what
// follows from sizes. The file is neither read nor parsed again.
llvm::Expected<ImportedModel> importAgain(mlir::MLIRContext &context, const ImportedModel &model,
                                          const ImportOptions &options);

} // namespace cleave

#endif
