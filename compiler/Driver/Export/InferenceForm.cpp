#include "compiler/Driver/Export/InferenceForm.h"

#include "compiler/Driver/Export/GraphEdit.h"
#include "compiler/Driver/Export/GraphUses.h"
#include "compiler/Driver/Export/MaskForm.h"
#include "compiler/Import/ONNX/File/ExportSignature.h"

#include "llvm/ADT/STLExtras.h"

using namespace cleave;

namespace {

void normalizeByStoredStatistics(onnx::NodeProto &node, const llvm::StringSet<> &uses) {
  auto attribute = llvm::find_if(*node.mutable_attribute(), [](const onnx::AttributeProto &a) {
    return a.name() == "training_mode" && a.ref_attr_name().empty() && a.i() != 0;
  });
  bool usesStatistics = false;
  for (int i = 1; i < node.output_size(); ++i)
    usesStatistics |= uses.contains(node.output(i));
  if (attribute == node.mutable_attribute()->end() || usesStatistics)
    return;
  attribute->set_i(0);
  while (node.output_size() > 1)
    node.mutable_output()->RemoveLast();
}

void rewrite(Nodes &nodes, const llvm::StringSet<> &uses) {
  for (onnx::NodeProto &node : nodes) {
    if (isStandard(node) && node.op_type() == "BatchNormalization")
      normalizeByStoredStatistics(node, uses);
    while (isStandard(node) && node.op_type() == "Dropout" && node.input_size() > 2)
      node.mutable_input()->RemoveLast();
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        rewrite(*attribute.mutable_g()->mutable_node(), uses);
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        rewrite(*graph.mutable_node(), uses);
    }
  }
}

// Removes constants and initializers that were read before and are not read any more, because onnxruntime warns about
// each of them. If an initializer is also an input, it is the input's default value, and stays.
void dropUnread(onnx::GraphProto &graph, const llvm::StringSet<> &before) {
  llvm::StringSet<> after;
  collectUses(graph, after);
  for (const onnx::ValueInfoProto &input : graph.input())
    after.insert(input.name());
  auto isKept = [&](const std::string &name) { return !before.contains(name) || after.contains(name); };
  filter(*graph.mutable_initializer(), [&](int i) { return isKept(graph.initializer(i).name()); });
  filter(*graph.mutable_node(), [&](int i) {
    const onnx::NodeProto &node = graph.node(i);
    return node.op_type() != "Constant" || node.output_size() != 1 || isKept(node.output(0));
  });
}

} // namespace

std::string cleave::setInferenceForm(onnx::ModelProto &model) {
  llvm::StringSet<> uses;
  collectUses(model.graph(), uses);
  rewrite(*model.mutable_graph()->mutable_node(), uses);
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    llvm::StringSet<> inside;
    inside.insert_range(function.output());
    collectUses(function.node(), inside);
    rewrite(*function.mutable_node(), inside);
  }
  std::string draws = takeExpectedMasks(*model.mutable_graph());
  dropUnread(*model.mutable_graph(), uses);
  filter(*model.mutable_metadata_props(),
         [&](int i) { return model.metadata_props(i).key() != onnx_import::kFormKey; });
  return draws;
}
