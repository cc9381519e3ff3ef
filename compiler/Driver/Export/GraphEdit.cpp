#include "compiler/Driver/Export/GraphEdit.h"

#include "compiler/Driver/Export/GraphUses.h"

using namespace cleave;

GraphEdit::GraphEdit(onnx::GraphProto &graph) : graph(graph) {
  collectUses(graph, names);
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    names.insert_range(node.output());
}

std::string GraphEdit::newName(std::string name) {
  while (!names.insert(name).second)
    name += "_";
  return name;
}

onnx::NodeProto &GraphEdit::addNode(const char *type, llvm::ArrayRef<std::string> inputs, const std::string &output) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(type);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

void GraphEdit::addConstant(const std::string &name, llvm::ArrayRef<int64_t> numbers) {
  onnx::TensorProto &value = addTensor(addNode("Constant", {}, name), onnx::TensorProto::INT64);
  value.add_dims(int64_t(numbers.size()));
  for (int64_t number : numbers)
    value.add_int64_data(number);
}

void GraphEdit::setAttribute(onnx::NodeProto &node, const char *name, int64_t number) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(number);
}

onnx::TensorProto &GraphEdit::addTensor(onnx::NodeProto &node, int type) {
  onnx::AttributeProto &value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(type);
  return *value.mutable_t();
}
