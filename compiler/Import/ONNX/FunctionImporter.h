// Imports the nodes of the graph into one function: `@model` or `@model.eval`.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FUNCTIONIMPORTER_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FUNCTIONIMPORTER_H

#include "compiler/Import/ONNX/Initializers.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Signature.h"
#include "compiler/Import/ONNX/SizeDecisions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave::onnx_import {

// Data that all functions of one import share.
struct ImportJob {
  const ModelFile &file;
  const FlatGraph &graph;
  const Signature &signature;
  const NamedBindings &tensors;
  const ImportOptions &options;
  mlir::SymbolTable &symbols;
  ConstantPool &constants;
  WeightMap &weights;
  std::vector<std::string> &notes;
  std::vector<std::string> &guessedBatch;
  ErrorList &errors;
  TensorReader &tensorReader;
  Decisions &decisions;
};

// Imports the graph as a function named `symbol`. If it fails, errors are added to `job.errors`, and the function is
// incomplete.
mlir::func::FuncOp importFunction(const ImportJob &job, llvm::StringRef symbol, const Mode &mode);

} // namespace cleave::onnx_import

#endif
