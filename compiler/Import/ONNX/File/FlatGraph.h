// The nodes of a model in an order in which they can be computed, with model-local functions inlined.
//
// Names are checked here once: every name is defined once, every used name is defined, no node depends on itself. Later
// steps trust it.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_FLATGRAPH_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_FLATGRAPH_H

#include "compiler/Import/ONNX/File/ModelFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <map>

namespace cleave {
class Budget;
}

namespace cleave::onnx_import {

struct FlatNode {
  const onnx::NodeProto *proto;
  // Of the file, or of the function that the node stems from. The node's own graphs are read by them, too.
  const Opsets *opsets;

  int64_t opset() const; // of the node's domain; 0 where it is not imported

  // "node 'fc1' (Gemm)"; an unnamed node goes by its first output.
  std::string describe() const;
  std::string shortName() const;
};

struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::deque<onnx::NodeProto> inlined; // storage of the nodes that stem from functions
  std::map<const onnx::FunctionProto *, Opsets> functionOpsets;
  size_t numCalls = 0; // calls of functions that were inlined in the model up to the end of this graph
};

// What a graph of the file is read in.
struct GraphSurroundings {
  const Opsets &opsets;
  llvm::function_ref<bool(llvm::StringRef)> isOuter; // the names around it, which a branch reads, too
  size_t numCalls;                                   // inlined before: each call of the model has a number of its own
};

// Of the model's graph, or of a branch.
llvm::Expected<FlatGraph> flattenGraph(const ModelFile &file, const onnx::GraphProto &graph,
                                       const GraphSurroundings &around, Budget &budget);

// All nodes, and those of their own graphs (If, Loop, Scan), however deep.
void forEachNode(const FlatGraph &graph, llvm::function_ref<void(const onnx::NodeProto &)> visit);

// Appends the nodes of `from` to `graph` with calls of model-local functions replaced by their bodies. A function that
// calls itself, calls nested deeper than 32, and more than the budget has are errors.
llvm::Error inlineFunctions(const ModelFile &file, const onnx::GraphProto &from, const Opsets &opsets, FlatGraph &graph,
                            Budget &budget);

} // namespace cleave::onnx_import

#endif
