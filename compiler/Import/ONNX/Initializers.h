// Imports initializers. Each becomes a state or a literal:
//
//   floating point                    -> state, role parameter (buffer for batch-norm statistics and --buffers)
//   floating point, one number, of a name that an exporter made
//                                     -> literal (`val_12`: a constant of the code, not a parameter)
//   integers, at most 4 KiB           -> literal
//   integers, more                    -> state, role constant
//
// If `--init` has a rule for a parameter, the rule gives its initial values, and none of its bytes is read. A file of
// external data that contains only such parameters need not exist.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INITIALIZERS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INITIALIZERS_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/ExportSignature.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/TensorReader.h"
#include "compiler/Import/ONNX/Importer.h"

namespace cleave::onnx_import {

// The bindings of the graph's named tensors, before any function is imported.
using NamedBindings = std::vector<std::pair<std::string, Binding>>;

// Inputs and results of the import of initializers.
struct InitializerJob {
  const ModelFile &file;
  const FlatGraph &graph;
  const ExportSignature &signature;
  const ImportOptions &options;
  TensorReader &reader;
  mlir::SymbolTable &symbols; // of the module; states are declared there
  WeightMap &weights;         // gets the bytes of the states
  std::vector<std::string> &notes;
  ErrorList &errors;
};

// Returns the bindings of all initializers. If the file has a signature, it decides which tensors are parameters and
// which are buffers. A tensor that the signature does not contain is a buffer. Exception: if the exporter has folded or
// merged parameters (changedParameters, File/ExportNotes.h), such a tensor may be one of them in another form, and is
// treated as if there were no signature.
NamedBindings importInitializers(const InitializerJob &job);

} // namespace cleave::onnx_import

#endif
