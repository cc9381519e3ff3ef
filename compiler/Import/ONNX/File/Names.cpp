#include "compiler/Import/ONNX/File/Names.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"

using namespace cleave::onnx_import;

namespace {

// The characters that a name may have.
enum class Charset { NoNul, NoControl };

class NameChecker {
public:
  llvm::Error run(const onnx::ModelProto &model) {
    for (const auto &import : model.opset_import())
      check(import.domain(), Charset::NoControl, "the domain of an imported operator set");
    checkGraph(model.graph(), "");
    for (const onnx::FunctionProto &function : model.functions())
      checkFunction(function);
    return errors_.take();
  }

private:
  void check(const std::string &name, Charset charset, const llvm::Twine &what) {
    std::string defect = defectOf(name, charset);
    if (!defect.empty() && reported_.insert(name).second)
      errors_.add(what + " has the name " + quote(name) + ", which " + defect + "; rename it and save the model again");
  }

  static std::string defectOf(llvm::StringRef name, Charset charset) {
    const auto *bytes = reinterpret_cast<const llvm::UTF8 *>(name.data());
    if (!llvm::isLegalUTF8String(&bytes, bytes + name.size()))
      return "is not valid UTF-8";
    if (name.contains('\0'))
      return "holds a NUL byte";
    if (charset == Charset::NoControl && llvm::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return "holds a control character";
    return "";
  }

  template <typename List> void checkUnique(const List &names, const llvm::Twine &owner, llvm::StringRef what) {
    llvm::StringSet<> seen;
    for (const std::string &name : names)
      if (!name.empty() && !seen.insert(name).second)
        errors_.add(owner + " has the " + what + " " + quote(name) + " twice; keep one of them");
  }

  void checkGraph(const onnx::GraphProto &graph, const std::string &where) {
    for (const auto &tensor : graph.initializer())
      check(tensor.name(), Charset::NoNul, where + "an initializer");
    for (const auto &input : graph.input())
      checkValue(input, where + "an input");
    std::vector<std::string> outputs;
    for (const auto &output : graph.output()) {
      checkValue(output, where + "an output");
      outputs.push_back(output.name());
    }
    checkUnique(outputs, where + "the graph", "output");
    for (const onnx::NodeProto &node : graph.node())
      checkNode(node, where);
  }

  void checkValue(const onnx::ValueInfoProto &value, const std::string &what) {
    check(value.name(), Charset::NoNul, what);
    for (const auto &dim : value.type().tensor_type().shape().dim())
      check(dim.dim_param(), Charset::NoControl, "a dimension of " + quote(value.name()));
  }

  void checkNode(const onnx::NodeProto &node, const std::string &where) {
    std::string label = where + "node " +
                        quote(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()) + " (" +
                        quote(node.op_type()) + ")";
    check(node.op_type(), Charset::NoControl, where + "the operator of a node");
    check(node.domain(), Charset::NoControl, "the domain of " + label);
    check(node.name(), Charset::NoNul, where + "a node");
    for (const std::string &input : node.input())
      check(input, Charset::NoNul, "an input of " + label);
    for (const std::string &output : node.output())
      check(output, Charset::NoNul, "an output of " + label);
    llvm::StringSet<> attributes;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      check(attribute.name(), Charset::NoControl, "an attribute of " + label);
      if (!attributes.insert(attribute.name()).second)
        errors_.add(label + " has the attribute " + quote(attribute.name()) + " twice; keep one of them");
      if (attribute.has_g())
        checkGraph(attribute.g(), "in " + label + ": ");
      for (const onnx::GraphProto &graph : attribute.graphs())
        checkGraph(graph, "in " + label + ": ");
    }
  }

  void checkFunction(const onnx::FunctionProto &function) {
    std::string label = "function " + quote(function.name());
    check(function.name(), Charset::NoControl, "a function");
    check(function.domain(), Charset::NoControl, "the domain of " + label);
    for (const std::string &input : function.input())
      check(input, Charset::NoNul, "an input of " + label);
    for (const std::string &output : function.output())
      check(output, Charset::NoNul, "an output of " + label);
    checkUnique(function.input(), label, "input");
    checkUnique(function.output(), label, "output");
    for (const onnx::NodeProto &node : function.node())
      checkNode(node, "in " + label + ": ");
  }

  ErrorList errors_;
  llvm::StringSet<> reported_; // a name is reported once, even if many nodes use it
};

} // namespace

llvm::Error cleave::onnx_import::checkNames(const onnx::ModelProto &model) { return NameChecker().run(model); }
