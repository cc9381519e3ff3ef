#include "compiler/Driver/Export/KeptOutputs.h"

#include "compiler/Driver/Export/GraphEdit.h"
#include "compiler/Driver/Export/GraphUses.h"
#include "compiler/Driver/Export/SizeSources.h"
#include "compiler/Support/Usage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace cleave;

namespace {

using Values = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

llvm::Error checkNames(const Values &outputs, llvm::ArrayRef<std::string> names) {
  std::vector<std::string> known;
  for (const onnx::ValueInfoProto &output : outputs)
    known.push_back("'" + output.name() + "'");
  std::set<std::string> given;
  for (const std::string &name : names) {
    if (!given.insert(name).second)
      return usageError("--outputs", "'" + name + "' is given twice");
    if (!llvm::is_contained(known, "'" + name + "'"))
      return usageError("--outputs",
                        "the model has no output '" + name + "'; its outputs are " + llvm::join(known, ", "));
  }
  return llvm::Error::success();
}

// As filter(). Returns the names of the removed elements.
template <typename Keeps> std::string dropNames(Values &values, Keeps keeps) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &value : values)
    if (!keeps(value.name()))
      names.push_back(value.name());
  filter(values, [&](int i) { return keeps(values.Get(i).name()); });
  return llvm::join(names, ", ");
}

} // namespace

llvm::Expected<std::string> cleave::keepOutputs(onnx::ModelProto &model, llvm::ArrayRef<std::string> names) {
  onnx::GraphProto &graph = *model.mutable_graph();
  if (llvm::Error error = checkNames(graph.output(), names))
    return error;
  std::string outputs =
      dropNames(*graph.mutable_output(), [&](const std::string &name) { return llvm::is_contained(names, name); });

  takeSizesOfNeededInputs(graph);
  std::vector<std::string> kept;
  for (const onnx::ValueInfoProto &output : graph.output())
    kept.push_back(output.name());
  auto [needed, keep] = collectNeeds(graph, kept);
  auto isNeeded = [&needed = needed](const std::string &name) { return needed.contains(name); };
  filter(*graph.mutable_node(), [&keep = keep](int i) { return keep[i]; });
  std::string inputs = dropNames(*graph.mutable_input(), isNeeded);
  filter(*graph.mutable_initializer(), [&](int i) { return isNeeded(graph.initializer(i).name()); });
  filter(*graph.mutable_sparse_initializer(),
         [&](int i) { return isNeeded(graph.sparse_initializer(i).values().name()); });

  // An output of a node that no kept node reads (the mask of a Dropout) may keep its type.
  for (const onnx::NodeProto &node : graph.node())
    needed.insert_range(node.output());
  filter(*graph.mutable_value_info(), [&](int i) { return isNeeded(graph.value_info(i).name()); });
  filter(*graph.mutable_quantization_annotation(),
         [&](int i) { return isNeeded(graph.quantization_annotation(i).tensor_name()); });

  std::string said;
  if (!outputs.empty())
    said = "left out: outputs " + outputs;
  if (!inputs.empty())
    said += (said.empty() ? "left out: inputs " : "; inputs ") + inputs;
  return said;
}
