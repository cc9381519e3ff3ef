// Collects the names that the nodes of an ONNX graph read, including their subgraphs, and the nodes and values that
// some values need.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_GRAPHUSES_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_GRAPHUSES_H

#include "compiler/Import/ONNX/File/ModelFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace cleave {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// True if the node's operator is one of ONNX's own.
inline bool isStandard(const onnx::NodeProto &node) { return onnx_import::canonicalDomain(node.domain()).empty(); }

// Adds the names that a node reads, and those that the nodes of its subgraphs (If, Loop, Scan) read or return. These
// include names of values inside a subgraph. The standard forbids an outer value of the same name.
void collectUses(const onnx::NodeProto &node, llvm::StringSet<> &uses);
void collectUses(const Nodes &nodes, llvm::StringSet<> &uses);
// Adds the outputs of the graph, and the names that its nodes read.
void collectUses(const onnx::GraphProto &graph, llvm::StringSet<> &uses);

// The values and nodes from which some values of a graph are computed. Values are given by name, including the values
// themselves, and nodes by index.
struct Needs {
  llvm::StringSet<> values;
  std::vector<bool> nodes;
};

// Collects needs. A node is needed if one of its results is. Then the values that it reads are needed, too, including
// those of its subgraphs. Nodes that are marked in `readNothing` (empty: none) count as nodes without inputs. The
// result does not depend on the order of the nodes, so files that break the standard's order are accepted.
Needs collectNeeds(const onnx::GraphProto &graph, llvm::ArrayRef<std::string> values,
                   const std::vector<bool> &readNothing = {});

} // namespace cleave

#endif
