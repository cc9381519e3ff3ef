#include "compiler/Import/ONNX/File/SharedStatistics.h"

#include "compiler/Import/ONNX/Operators/TorchGradients.h"

#include "llvm/ADT/StringMap.h"

using namespace cleave::onnx_import;

// True if torch.export wrote the node for the statistics of a call. TorchScript also writes an Identity of statistics:
// for those of another layer that begin with the same values. They are not shared.
static bool passesStatistics(const onnx::NodeProto &node) {
  return node.op_type() == "Identity" && node.input_size() == 1 && node.output_size() == 1 &&
         llvm::StringRef(torchCallOf(node).target).contains("batch_norm");
}

void cleave::onnx_import::shareStatistics(FlatGraph &graph) {
  llvm::StringMap<std::string> own; // the name of the layer's statistics
  auto ownName = [&](const std::string &name) {
    auto found = own.find(name);
    return found == own.end() ? name : found->second;
  };
  for (FlatNode &node : graph.nodes) {
    if (passesStatistics(*node.proto))
      own[node.proto->output(0)] = ownName(node.proto->input(0));
    if (node.proto->op_type() != "BatchNormalization" || node.proto->input_size() != 5)
      continue;
    std::string mean = ownName(node.proto->input(3)), variance = ownName(node.proto->input(4));
    if (mean == node.proto->input(3) && variance == node.proto->input(4))
      continue;
    graph.inlined.push_back(*node.proto);
    graph.inlined.back().set_input(3, mean);
    graph.inlined.back().set_input(4, variance);
    node.proto = &graph.inlined.back();
  }
}
