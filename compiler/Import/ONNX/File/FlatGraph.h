// The nodes of a model in an order in which they can be computed, with model-local functions inlined.
//
// Names are checked here once: every name is defined once, every used name is defined, no node depends on itself. Later
// steps trust it.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_FLATGRAPH_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_FLATGRAPH_H

#include "compiler/Import/ONNX/File/ModelFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>

namespace cleave {
class Budget;
}

namespace cleave::onnx_import {

struct FlatNode {
  const onnx::NodeProto *proto;
  int64_t opset; // of the node's domain; 0 where the file does not import it

  // "node 'fc1' (Gemm)"; an unnamed node goes by its first output.
  std::string describe() const;
  std::string shortName() const;
};

struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::deque<onnx::NodeProto> inlined; // storage of the nodes that stem from functions
};

// Of the model's graph, or of a branch, which reads the names around it, too.
llvm::Expected<FlatGraph> flattenGraph(const ModelFile &file, const onnx::GraphProto &graph,
                                       llvm::function_ref<bool(llvm::StringRef)> isOuter, Budget &budget);

// All nodes, and those of their own graphs (If, Loop, Scan), however deep.
void forEachNode(const FlatGraph &graph, llvm::function_ref<void(const onnx::NodeProto &)> visit);

// Appends the nodes of `from` to `graph` with calls of model-local functions replaced by their bodies. A function that
// calls itself, calls nested deeper than 32, and more than the budget has are errors.
llvm::Error inlineFunctions(const ModelFile &file, const onnx::GraphProto &from, FlatGraph &graph, Budget &budget);

} // namespace cleave::onnx_import

#endif
