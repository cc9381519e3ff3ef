#include "compiler/Driver/Export/SizeSources.h"

#include "compiler/Driver/Export/GraphEdit.h"
#include "compiler/Driver/Export/GraphUses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace cleave;

namespace {

using Shape = onnx::TensorShapeProto;
using Dimension = onnx::TensorShapeProto::Dimension;

// Dimension `index` of the input `input`.
struct Source {
  std::string input;
  int index;
};

class SizeSources {
public:
  explicit SizeSources(onnx::GraphProto &graph) : graph(graph), edit(graph) {
    for (const auto *values : {&graph.input(), &graph.value_info()})
      for (const onnx::ValueInfoProto &value : *values)
        if (value.type().tensor_type().has_shape())
          shapes[value.name()] = &value.type().tensor_type().shape();
  }

  void run() {
    // 1. Find what the outputs need if reading a size needs no input. These inputs stay in any case, and their symbols
    // can be used.
    std::vector<bool> sizesOnly(graph.node_size());
    for (int i = 0; i < graph.node_size(); ++i)
      sizesOnly[i] = !readSizes(graph.node(i)).empty();
    if (llvm::none_of(sizesOnly, [](bool is) { return is; }))
      return;
    findSources(collectNeeds(graph, outputNames(), sizesOnly));
    // 2. Find the inputs that stay. A size that these symbols do not give is read as before.
    for (int i = 0; i < graph.node_size(); ++i)
      sizesOnly[i] = sizesOnly[i] && llvm::all_of(readSizes(graph.node(i)), [&](const Dimension &size) {
                       return size.has_dim_value() || sources.contains(size.dim_param());
                     });
    Needs needs = collectNeeds(graph, outputNames(), sizesOnly);
    // 3. Rewrite only nodes that would keep one more input.
    for (int i = 0; i < graph.node_size(); ++i)
      sizesOnly[i] = sizesOnly[i] && needs.nodes[i] && keepsAnotherInput(graph.node(i).input(0), needs);
    if (llvm::is_contained(sizesOnly, true))
      rewrite(sizesOnly);
  }

private:
  std::vector<std::string> outputNames() const {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto &output : graph.output())
      names.push_back(output.name());
    return names;
  }

  // Returns the dimensions that a `Shape` node gives, or none if one of them is neither a number nor a symbol.
  std::vector<Dimension> readSizes(const onnx::NodeProto &node) const {
    if (!isStandard(node) || node.op_type() != "Shape" || node.input_size() != 1 || node.output_size() != 1)
      return {};
    auto found = shapes.find(node.input(0));
    if (found == shapes.end())
      return {};
    const Shape &shape = *found->second;
    int64_t rank = shape.dim_size(), start = 0, end = rank;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (!attribute.ref_attr_name().empty())
        return {};
      int64_t at = std::clamp(attribute.i() < 0 ? attribute.i() + rank : attribute.i(), int64_t(0), rank);
      if (attribute.name() == "start")
        start = at;
      else if (attribute.name() == "end")
        end = at;
    }
    std::vector<Dimension> sizes;
    for (int64_t i = start; i < end; ++i) {
      const Dimension &size = shape.dim(i);
      if (!size.has_dim_value() && size.dim_param().empty())
        return {};
      sizes.push_back(size);
    }
    return sizes;
  }

  void findSources(const Needs &needs) {
    for (const onnx::ValueInfoProto &input : graph.input())
      if (needs.values.contains(input.name()))
        for (const auto &[i, size] : llvm::enumerate(input.type().tensor_type().shape().dim()))
          if (!size.dim_param().empty())
            sources.try_emplace(size.dim_param(), Source{input.name(), int(i)});
  }

  bool keepsAnotherInput(const std::string &value, const Needs &needs) const {
    Needs all = collectNeeds(graph, {value}, {});
    return llvm::any_of(graph.input(), [&](const onnx::ValueInfoProto &input) {
      return all.values.contains(input.name()) && !needs.values.contains(input.name());
    });
  }

  void rewrite(const std::vector<bool> &chosen) {
    Nodes nodes;
    nodes.Swap(graph.mutable_node());
    for (auto [i, node] : llvm::enumerate(nodes))
      if (chosen[i])
        writeSizes(node.output(0), readSizes(node));
      else
        graph.add_node()->Swap(&node);
  }

  // Computes result = [sizes]. Each number becomes a constant, each symbol an element of the shape of an input that has
  // it.
  void writeSizes(const std::string &result, const std::vector<Dimension> &sizes) {
    std::vector<std::string> parts;
    for (const auto &[i, size] : llvm::enumerate(sizes)) {
      std::string part = sizes.size() == 1 ? result : edit.newName(result + ".size" + std::to_string(i));
      if (size.has_dim_value()) {
        edit.addConstant(part, {size.dim_value()});
      } else {
        const Source &source = sources.find(size.dim_param())->second;
        std::string shape = edit.newName(part + ".shape"), index = edit.newName(part + ".index");
        edit.addNode("Shape", {source.input}, shape);
        edit.addConstant(index, {source.index});
        edit.addNode("Gather", {shape, index}, part);
      }
      parts.push_back(part);
    }
    if (parts.size() == 1)
      return;
    GraphEdit::setAttribute(edit.addNode("Concat", parts, result), "axis", 0);
  }

  onnx::GraphProto &graph;
  GraphEdit edit;
  llvm::StringMap<const Shape *> shapes; // of inputs, and of values whose type the file declares
  llvm::StringMap<Source> sources;       // by symbol; the inputs are those that the outputs need in any case
};

} // namespace

void cleave::takeSizesOfNeededInputs(onnx::GraphProto &graph) { SizeSources(graph).run(); }
