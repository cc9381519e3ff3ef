// The names that the nodes of an ONNX graph read, through subgraphs too, and what some of its values need.
#ifndef CLEAVE_COMPILER_DRIVER_GRAPHUSES_H
#define CLEAVE_COMPILER_DRIVER_GRAPHUSES_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace cleave {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Adds what a node reads itself, and what the nodes of its subgraphs (If, Loop, Scan) read or give as outputs. Names of
// values inside a subgraph are among them; the standard lets no value outside have the same name.
void collectUses(const onnx::NodeProto &node, llvm::StringSet<> &uses);
void collectUses(const Nodes &nodes, llvm::StringSet<> &uses);
// The outputs of the graph, and what its nodes read.
void collectUses(const onnx::GraphProto &graph, llvm::StringSet<> &uses);

// What some values of a graph are computed from: values by name, these among them, and nodes by number.
struct Needs {
  llvm::StringSet<> values;
  std::vector<bool> nodes;
};

// A node is needed where one of its results is; what it reads, in its subgraphs too, is needed then. Nodes that are
// marked in `readNothing` (empty: none) count as nodes without inputs. Producers may stand after their readers only in
// files that break the standard's order; the result does not depend on it.
Needs collectNeeds(const onnx::GraphProto &graph, llvm::ArrayRef<std::string> values,
                   const std::vector<bool> &readNothing = {});

} // namespace cleave

#endif
