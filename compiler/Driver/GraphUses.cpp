#include "compiler/Driver/GraphUses.h"

using namespace cleave;

void cleave::collectUses(const onnx::NodeProto &node, llvm::StringSet<> &uses) {
  uses.insert_range(node.input());
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      collectUses(attribute.g(), uses);
    for (const onnx::GraphProto &graph : attribute.graphs())
      collectUses(graph, uses);
  }
}

void cleave::collectUses(const Nodes &nodes, llvm::StringSet<> &uses) {
  for (const onnx::NodeProto &node : nodes)
    collectUses(node, uses);
}

void cleave::collectUses(const onnx::GraphProto &graph, llvm::StringSet<> &uses) {
  for (const onnx::ValueInfoProto &output : graph.output())
    uses.insert(output.name());
  collectUses(graph.node(), uses);
}
