// Initializers become what the model level has for them.
//
//   floating point                    -> state, role parameter (buffer for batch-norm statistics and --buffers)
//   floating point, one number, of a name that an exporter made
//                                     -> literal (`val_12`: a constant of the code, not a parameter)
//   integers, at most 4 KiB           -> literal
//   integers, more                    -> state, role constant
//
// A parameter for which `--init` has a rule begins as that says, and none of its bytes is read: the file of external
// data that would hold them need not exist.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INITIALIZERS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INITIALIZERS_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/ExportSignature.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/TensorReader.h"
#include "compiler/Import/ONNX/Importer.h"

namespace cleave::onnx_import {

// What the graph's named tensors are, before any function is imported.
using NamedBindings = std::vector<std::pair<std::string, Binding>>;

// What the import of initializers reads, and what it adds to.
struct InitializerJob {
  const ModelFile &file;
  const FlatGraph &graph;
  const ExportSignature &signature;
  const ImportOptions &options;
  TensorReader &reader;
  mlir::SymbolTable &symbols; // of the module, in which states are declared
  WeightMap &weights;         // which get the bytes of the states
  std::vector<std::string> &notes;
  ErrorList &errors;
};

// What the file's signature calls a parameter is one; what it calls a buffer, or does not know of, is none.
NamedBindings importInitializers(const InitializerJob &job);

} // namespace cleave::onnx_import

#endif
