// The names that the nodes of an ONNX graph read, through subgraphs too.
#ifndef CLEAVE_COMPILER_DRIVER_GRAPHUSES_H
#define CLEAVE_COMPILER_DRIVER_GRAPHUSES_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/StringSet.h"

namespace cleave {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Adds what a node reads itself, and what the nodes of its subgraphs (If, Loop, Scan) read or give as outputs. Names of
// values inside a subgraph are among them; the standard lets no value outside have the same name.
void collectUses(const onnx::NodeProto &node, llvm::StringSet<> &uses);
void collectUses(const Nodes &nodes, llvm::StringSet<> &uses);
// The outputs of the graph, and what its nodes read.
void collectUses(const onnx::GraphProto &graph, llvm::StringSet<> &uses);

} // namespace cleave

#endif
