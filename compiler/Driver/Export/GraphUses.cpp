#include "compiler/Driver/Export/GraphUses.h"

#include "llvm/ADT/StringMap.h"

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

Needs cleave::collectNeeds(const onnx::GraphProto &graph, llvm::ArrayRef<std::string> values,
                           const std::vector<bool> &readNothing) {
  llvm::StringMap<int> producer;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &result : graph.node(i).output())
      if (!result.empty()) // an empty name is an optional output that is not computed
        producer[result] = i;
  Needs needs;
  needs.nodes.resize(graph.node_size());
  std::vector<std::string> pending = values.vec();
  while (!pending.empty()) {
    std::string name = std::move(pending.back());
    pending.pop_back();
    if (!needs.values.insert(name).second)
      continue;
    auto found = producer.find(name);
    if (found == producer.end() || needs.nodes[found->second])
      continue;
    needs.nodes[found->second] = true;
    if (!readNothing.empty() && readNothing[found->second])
      continue;
    llvm::StringSet<> uses;
    collectUses(graph.node(found->second), uses);
    for (const auto &use : uses)
      pending.push_back(use.getKey().str());
  }
  return needs;
}
