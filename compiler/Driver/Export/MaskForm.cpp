#include "compiler/Driver/Export/MaskForm.h"

#include "compiler/Driver/Export/GraphEdit.h"
#include "compiler/Driver/Export/GraphUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

using namespace cleave;

namespace {

bool is(const onnx::NodeProto &node, llvm::ArrayRef<llvm::StringRef> types) {
  return isStandard(node) && llvm::is_contained(types, node.op_type());
}

const onnx::AttributeProto *attributeOf(const onnx::NodeProto &node, llvm::StringRef name) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

bool isFloat(int type) {
  return llvm::is_contained(
      {onnx::TensorProto::FLOAT, onnx::TensorProto::DOUBLE, onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16},
      type);
}

std::optional<double> elementOf(const onnx::TensorProto &tensor) {
  float single;
  double number;
  if (tensor.data_type() == onnx::TensorProto::FLOAT && tensor.float_data_size() == 1)
    return tensor.float_data(0);
  if (tensor.data_type() == onnx::TensorProto::DOUBLE && tensor.double_data_size() == 1)
    return tensor.double_data(0);
  if (tensor.data_type() == onnx::TensorProto::FLOAT && tensor.raw_data().size() == sizeof single)
    return std::memcpy(&single, tensor.raw_data().data(), sizeof single), single;
  if (tensor.data_type() == onnx::TensorProto::DOUBLE && tensor.raw_data().size() == sizeof number)
    return std::memcpy(&number, tensor.raw_data().data(), sizeof number), number;
  return std::nullopt;
}

class MaskForm {
public:
  explicit MaskForm(onnx::GraphProto &graph) : graph(graph), edit(graph) {
    for (const onnx::ValueInfoProto &value : graph.value_info())
      types[value.name()] = value.type().tensor_type().elem_type();
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string &result : graph.node(i).output())
        producers[result] = i;
      for (const std::string &operand : graph.node(i).input())
        readers[operand].push_back(i);
      llvm::StringSet<> uses; // uses in subgraphs are not factors
      collectUses(graph.node(i), uses);
      for (const auto &use : uses)
        if (!llvm::is_contained(graph.node(i).input(), use.getKey()))
          readers[use.getKey()].push_back(-1);
    }
    for (const onnx::ValueInfoProto &output : graph.output()) {
      outputs.push_back(output.name());
      readers[output.name()].push_back(-1);
    }
  }

  std::string run() {
    std::vector<bool> before = collectNeeds(graph, outputs).nodes;
    for (int i = 0; i < graph.node_size(); ++i)
      if (isDraw(graph.node(i)))
        replaceMasksOf(i);
    if (!replacements.empty())
      rewrite(before);
    std::vector<bool> needed = collectNeeds(graph, outputs).nodes;
    std::vector<std::string> drawing;
    for (int i = 0; i < graph.node_size(); ++i)
      if (const onnx::NodeProto &node = graph.node(i); needed[i] && draws(node))
        drawing.push_back("'" + (node.name().empty() ? node.output(0) : node.name()) + "' (" + node.op_type() + ")");
    if (drawing.empty())
      return "";
    std::string more = drawing.size() > 3 ? " and " + std::to_string(drawing.size() - 3) + " more" : "";
    drawing.resize(std::min<size_t>(drawing.size(), 3));
    return "the file draws random numbers in every run, by the nodes " + llvm::join(drawing, ", ") + more;
  }

private:
  // Returns the float that all elements of a value equal, looking through casts. It must come from a node `Constant`,
  // because an initializer may be trained.
  std::optional<double> numberOf(std::string value) const {
    for (int steps = 0; steps < graph.node_size(); ++steps) { // a wrong file may have a cycle
      auto found = producers.find(value);
      if (found == producers.end())
        return std::nullopt;
      const onnx::NodeProto &node = graph.node(found->second);
      if (is(node, {"Cast", "CastLike", "Identity"}) && node.input_size() > 0) {
        value = node.input(0);
        continue;
      }
      if (!is(node, {"Constant"}) || node.attribute_size() != 1)
        return std::nullopt;
      const onnx::AttributeProto &attribute = node.attribute(0);
      if (attribute.name() == "value_float")
        return attribute.f();
      return attribute.name() == "value" ? elementOf(attribute.t()) : std::nullopt;
    }
    return std::nullopt;
  }

  static bool draws(const onnx::NodeProto &node) {
    return is(node, {"RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike", "Bernoulli"});
  }

  // True if the node draws uniform numbers in [0, 1).
  static bool isDraw(const onnx::NodeProto &node) {
    const onnx::AttributeProto *low = attributeOf(node, "low"), *high = attributeOf(node, "high");
    return is(node, {"RandomUniform", "RandomUniformLike"}) && (!low || low->f() == 0) && (!high || high->f() == 1);
  }

  static bool drawsFloats(const onnx::NodeProto &draw) {
    const onnx::AttributeProto *type = attributeOf(draw, "dtype"); // default: float, or the type of the operand
    return type ? type->i() == onnx::TensorProto::FLOAT : is(draw, {"RandomUniform"});
  }

  // True if the node returns its first operand in another shape or type.
  static bool handsOn(const onnx::NodeProto &node) {
    const onnx::AttributeProto *to = attributeOf(node, "to");
    return is(node, {"Reshape", "Expand", "Unsqueeze", "Identity", "CastLike"}) ||
           (is(node, {"Cast"}) && to && isFloat(to->i()));
  }

  // True if the value is a product with the mask as a factor.
  bool hasFactor(const std::string &value, const std::string &mask) const {
    llvm::SmallVector<std::string> stack = {value};
    llvm::StringSet<> seen;
    while (!stack.empty()) {
      std::string next = stack.pop_back_val();
      if (next == mask)
        return true;
      auto found = producers.find(next);
      if (found == producers.end() || !seen.insert(next).second)
        continue;
      const onnx::NodeProto &node = graph.node(found->second);
      if (handsOn(node) && node.input_size() > 0)
        stack.push_back(node.input(0));
      else if (is(node, {"Mul", "Div"}))
        stack.append(node.input().begin(), node.input().end());
    }
    return false;
  }

  enum class Reading { KeepsForm, Multiplies, Other };

  // Returns how a node reads `value`, which is the mask or is computed from it: KeepsForm if the result is the value in
  // another shape or type, or times a number, and Multiplies if the result is a product with another value. A mask m of
  // 0 and 1 times itself is m. So the expectation of m * m is not the product of the expectations.
  Reading readingOf(int reader, const std::string &value, const std::string &mask) const {
    if (reader < 0)
      return Reading::Other;
    const onnx::NodeProto &node = graph.node(reader);
    if (handsOn(node))
      return node.input(0) == value ? Reading::KeepsForm : Reading::Other;
    bool scales = is(node, {"Mul"}) || (is(node, {"Div"}) && node.input(0) == value);
    const std::string &other = scales ? node.input(node.input(0) == value ? 1 : 0) : value;
    if (scales && numberOf(other))
      return Reading::KeepsForm;
    return is(node, {"Mul"}) && !hasFactor(other, mask) ? Reading::Multiplies : Reading::Other;
  }

  // True if the mask is only used as a factor of products with other values, perhaps after nodes that keep its form.
  bool isFactor(const std::string &mask) const {
    llvm::SmallVector<std::string> stack = {mask};
    llvm::StringSet<> seen;
    while (!stack.empty()) {
      std::string value = stack.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      auto found = readers.find(value);
      if (found == readers.end())
        return false;
      for (int reader : found->second) {
        Reading reading = readingOf(reader, value, mask);
        if (reading == Reading::Other)
          return false;
        if (reading == Reading::KeepsForm)
          stack.push_back(graph.node(reader).output(0));
      }
    }
    return true;
  }

  void replaceMasksOf(int draw) {
    const std::string &uniform = graph.node(draw).output(0);
    for (int reader : readers.lookup(uniform)) {
      if (reader < 0)
        continue;
      const onnx::NodeProto &node = graph.node(reader);
      if (node.input_size() != 2)
        continue;
      bool left = node.input(0) == uniform;
      std::optional<double> number = numberOf(node.input(left ? 1 : 0));
      if (!number)
        continue;
      bool less = is(node, {"Less", "LessOrEqual"});
      if (less || is(node, {"Greater", "GreaterOrEqual"})) { // cast(uniform < number), in any direction
        double below = std::clamp(*number, 0.0, 1.0);
        replaceReaders(draw, node.output(0), {"Cast", "CastLike"}, less == left ? below : 1 - below);
      } else if (is(node, {"Add"}) && *number >= 0 && *number <= 1) { // floor(uniform + number)
        replaceReaders(draw, node.output(0), {"Floor"}, *number);
      }
    }
  }

  void replaceReaders(int draw, const std::string &value, llvm::ArrayRef<llvm::StringRef> ops, double expectation) {
    for (int reader : readers.lookup(value)) {
      if (reader < 0 || !is(graph.node(reader), ops) || graph.node(reader).input(0) != value)
        continue;
      const onnx::NodeProto &node = graph.node(reader);
      const onnx::AttributeProto *to = attributeOf(node, "to");
      bool isFloatMask = is(node, {"Cast"})       ? to && isFloat(to->i())
                         : is(node, {"CastLike"}) ? isFloat(types.lookup(node.output(0)))
                                                  : drawsFloats(graph.node(draw));
      if (isFloatMask && isFactor(node.output(0)))
        replacements[reader] = {draw, expectation};
    }
  }

  // Replaces the node by a constant of the mask's shape: `Floor` itself, or the operand of the cast.
  void writeMask(const onnx::NodeProto &node, const onnx::NodeProto &draw, double expectation) {
    const std::string &mask = node.output(0);
    std::string shape = edit.newName(mask + ".shape");
    if (is(draw, {"RandomUniformLike"})) {
      edit.addNode("Shape", {draw.input(0)}, shape);
    } else {
      const onnx::AttributeProto *sizes = attributeOf(draw, "shape");
      edit.addConstant(shape, std::vector<int64_t>(sizes->ints().begin(), sizes->ints().end()));
    }
    bool casts = !is(node, {"Floor"});
    std::string expected = casts ? edit.newName(mask + ".expected") : mask;
    onnx::TensorProto &tensor =
        GraphEdit::addTensor(edit.addNode("ConstantOfShape", {shape}, expected), onnx::TensorProto::FLOAT);
    tensor.add_dims(1);
    tensor.add_float_data(float(expectation));
    if (!casts)
      return;
    onnx::NodeProto &cast = *graph.add_node();
    cast.CopyFrom(node);
    cast.set_input(0, expected);
  }

  void rewrite(const std::vector<bool> &before) {
    Nodes nodes;
    nodes.Swap(graph.mutable_node());
    for (int i = 0; i < nodes.size(); ++i)
      if (auto found = replacements.find(i); found != replacements.end())
        writeMask(nodes.Get(i), nodes.Get(found->second.draw), found->second.expectation);
      else
        graph.add_node()->CopyFrom(nodes.Get(i));
    dropUnread(nodes, before);
  }

  // Removes nodes that were needed before and are not needed any more.
  void dropUnread(const Nodes &nodes, const std::vector<bool> &before) {
    llvm::StringSet<> wereNeeded;
    for (int i = 0; i < nodes.size(); ++i)
      if (before[i])
        wereNeeded.insert_range(nodes.Get(i).output());
    std::vector<bool> needed = collectNeeds(graph, outputs).nodes;
    int kept = 0;
    for (int i = 0; i < graph.node_size(); ++i)
      if (needed[i] ||
          llvm::none_of(graph.node(i).output(), [&](const std::string &name) { return wereNeeded.contains(name); }))
        graph.mutable_node()->SwapElements(kept++, i);
    graph.mutable_node()->DeleteSubrange(kept, graph.node_size() - kept);
  }

  struct Replacement {
    int draw;
    double expectation;
  };

  onnx::GraphProto &graph;
  GraphEdit edit;
  std::vector<std::string> outputs;
  llvm::StringMap<int> types; // of values, if the file has them
  llvm::StringMap<int> producers;
  llvm::StringMap<llvm::SmallVector<int>> readers; // -1: the graph's outputs and subgraphs
  std::map<int, Replacement> replacements;         // by the node that computes the mask
};

} // namespace

std::string cleave::takeExpectedMasks(onnx::GraphProto &graph) { return MaskForm(graph).run(); }
