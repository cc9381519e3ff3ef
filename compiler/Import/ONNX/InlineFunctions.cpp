// Model-local functions (FunctionProto) are expanded like macros: formal names become actual ones, inner names get the
// call's name as a prefix, attribute references become the call's attributes.
#include "compiler/Import/ONNX/FlatGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace cleave::onnx_import;

namespace {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNodes = 1000000;

class Inliner {
public:
  Inliner(const ModelFile &file, FlatGraph &graph) : file_(file), graph_(graph) {}

  llvm::Error run(const onnx::GraphProto &from) {
    for (const onnx::FunctionProto &function : file_.proto.functions())
      if (!functions_.try_emplace(key(function.domain(), function.name()), &function).second)
        return makeError("function " + quote(function.name()) + " is defined twice");
    for (const onnx::NodeProto &node : from.node())
      if (llvm::Error error = add(node, file_.opsets))
        return error;
    return llvm::Error::success();
  }

private:
  using Opsets = llvm::StringMap<int64_t>;

  static std::string key(llvm::StringRef domain, llvm::StringRef name) {
    return (canonicalDomain(domain) + "::" + name).str();
  }

  llvm::Error add(const onnx::NodeProto &node, const Opsets &opsets) {
    auto it = functions_.find(key(node.domain(), node.op_type()));
    if (it != functions_.end())
      return expand(node, *it->second);
    if (graph_.nodes.size() >= kMaxNodes)
      return makeError("the graph has more than " + llvm::Twine(kMaxNodes) + " nodes once its functions are inlined");
    auto opset = opsets.find(canonicalDomain(node.domain()));
    graph_.nodes.push_back({&node, opset == opsets.end() ? 0 : opset->second});
    return llvm::Error::success();
  }

  llvm::Error expand(const onnx::NodeProto &call, const onnx::FunctionProto &function) {
    if (llvm::is_contained(stack_, &function))
      return makeError("function " + quote(function.name()) + " calls itself; ONNX functions must not recurse");
    if (stack_.size() >= kMaxDepth)
      return makeError("functions are nested deeper than " + llvm::Twine(kMaxDepth) + " at " + quote(function.name()));
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return makeError("node " + quote(call.name()) + " calls function " + quote(function.name()) + " with " +
                       llvm::Twine(call.input_size()) + " inputs and " + llvm::Twine(call.output_size()) +
                       " outputs; it has " + llvm::Twine(function.input_size()) + " and " +
                       llvm::Twine(function.output_size()));
    Opsets opsets;
    for (const auto &import : function.opset_import())
      opsets[canonicalDomain(import.domain())] = import.version();
    stack_.push_back(&function);
    std::string prefix =
        "call" + std::to_string(numCalls_++) + "." + (call.name().empty() ? call.op_type() : call.name()) + "/";
    llvm::StringMap<std::string> actual = bindNames(call, function);
    for (const onnx::NodeProto &inner : function.node()) {
      graph_.inlined.push_back(instantiate(inner, call, prefix, actual));
      if (llvm::Error error = add(graph_.inlined.back(), opsets))
        return error;
    }
    stack_.pop_back();
    return llvm::Error::success();
  }

  // Formal inputs that the call leaves out become the empty name, which is ONNX's "absent".
  static llvm::StringMap<std::string> bindNames(const onnx::NodeProto &call, const onnx::FunctionProto &function) {
    llvm::StringMap<std::string> actual;
    for (int i = 0; i < function.input_size(); ++i)
      actual[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < function.output_size(); ++i)
      if (i < call.output_size() && !call.output(i).empty())
        actual[function.output(i)] = call.output(i);
    return actual;
  }

  static onnx::NodeProto instantiate(const onnx::NodeProto &inner, const onnx::NodeProto &call,
                                     const std::string &prefix, const llvm::StringMap<std::string> &actual) {
    auto rename = [&](std::string &name) {
      if (name.empty())
        return;
      auto it = actual.find(name);
      name = it == actual.end() ? prefix + name : it->second;
    };
    onnx::NodeProto node = inner;
    node.set_name(prefix + inner.name());
    llvm::for_each(*node.mutable_input(), rename);
    llvm::for_each(*node.mutable_output(), rename);
    node.clear_attribute();
    for (const onnx::AttributeProto &attribute : inner.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *node.add_attribute() = attribute;
        continue;
      }
      for (const onnx::AttributeProto &given : call.attribute())
        if (given.name() == attribute.ref_attr_name()) {
          *node.add_attribute() = given;
          node.mutable_attribute()->rbegin()->set_name(attribute.name());
        }
    }
    return node;
  }

  const ModelFile &file_;
  FlatGraph &graph_;
  llvm::StringMap<const onnx::FunctionProto *> functions_;
  llvm::SmallVector<const onnx::FunctionProto *> stack_;
  size_t numCalls_ = 0;
};

} // namespace

llvm::Error cleave::onnx_import::inlineFunctions(const ModelFile &file, const onnx::GraphProto &from,
                                                 FlatGraph &graph) {
  return Inliner(file, graph).run(from);
}
