// Lists the nodes of a model in an order in which they can be computed, with model-local functions inlined.
//
// Names are checked here once: every name is defined once, every used name is defined, and no node depends on itself.
// Later steps rely on this.
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
  // The operator sets of the file, or of the function that the node comes from. They hold for the node's own graphs,
  // too.
  const Opsets *opsets;

  int64_t opset() const; // version of the node's domain; 0: the domain is not imported

  // Returns for example "node 'fc1' (Gemm)". A node without a name is described by its first output.
  std::string describe() const;
  std::string shortName() const;
};

struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::deque<onnx::NodeProto> inlined; // storage of the nodes that come from functions
  std::map<const onnx::FunctionProto *, Opsets> functionOpsets;
  size_t numCalls = 0; // number of function calls inlined in the model up to the end of this graph
};

// The context in which a graph of the file is read.
struct GraphSurroundings {
  const Opsets &opsets;
  llvm::function_ref<bool(llvm::StringRef)> isOuter; // true for names around the graph, which a branch may read
  size_t numCalls;                                   // calls inlined before; each call of the model gets its own number
};

// Flattens the model's graph, or the graph of a branch.
llvm::Expected<FlatGraph> flattenGraph(const ModelFile &file, const onnx::GraphProto &graph,
                                       const GraphSurroundings &around, Budget &budget);

// Calls `visit` for all nodes, including those of their own graphs (If, Loop, Scan) at any depth.
void forEachNode(const FlatGraph &graph, llvm::function_ref<void(const onnx::NodeProto &)> visit);

// Appends the nodes of `from` to `graph`, with calls of model-local functions replaced by their bodies. Fails if a
// function calls itself, if calls are nested deeper than 32, or if the budget is exhausted.
llvm::Error inlineFunctions(const ModelFile &file, const onnx::GraphProto &from, const Opsets &opsets, FlatGraph &graph,
                            Budget &budget);

} // namespace cleave::onnx_import

#endif
