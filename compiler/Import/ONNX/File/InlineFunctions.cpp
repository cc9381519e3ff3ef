// Model-local functions (FunctionProto) are expanded like macros: formal names become actual ones, inner names get the
// call's name as a prefix, attribute references become the call's attributes.
//
// A few functions that call each other are exponentially many nodes: every call, name and copy is drawn from the
// budget.
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Import/ONNX/Operators/KnownOperators.h"
#include "dialects/Cleave/IR/Budget.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

constexpr size_t kMaxDepth = 32;
using Kind = cleave::Budget::Kind;
using Names = google::protobuf::RepeatedPtrField<std::string>;

uint64_t bytesOf(const Names &names) {
  uint64_t bytes = 0;
  for (const std::string &name : names)
    bytes += name.size() + 1;
  return bytes;
}

class Inliner {
public:
  Inliner(const ModelFile &file, FlatGraph &graph, Budget &budget) : file_(file), graph_(graph), budget_(budget) {}

  llvm::Error run(const onnx::GraphProto &from) {
    for (const onnx::FunctionProto &function : file_.proto.functions())
      if (!functions_.try_emplace(functionKey(function), &function).second)
        return makeError("function " + quote(function.name()) + " is defined twice");
    for (const onnx::NodeProto &node : from.node())
      if (llvm::Error error = add(node, file_.opsets))
        return error;
    return llvm::Error::success();
  }

private:
  using Opsets = llvm::StringMap<int64_t>;
  using Actual = llvm::DenseMap<llvm::StringRef, llvm::StringRef>;

  llvm::Error draw(Kind kind, uint64_t amount, const onnx::NodeProto &node) {
    if (budget_.draw(kind, amount, FlatNode{&node, 0}.describe()))
      return llvm::Error::success();
    return makeError(*budget_.refusal());
  }

  llvm::Error add(const onnx::NodeProto &node, const Opsets &opsets) {
    auto opset = opsets.find(canonicalDomain(node.domain()));
    FlatNode flat{&node, opset == opsets.end() ? 0 : opset->second};
    auto it = functions_.find(functionKey(node));
    // The standard leaves open which of the two a call means; onnxruntime takes the operator.
    if (it != functions_.end() && !isStandardOperator(flat))
      return expand(node, *it->second);
    if (llvm::Error error = draw(Kind::Nodes, 1, node))
      return error;
    graph_.nodes.push_back(flat);
    return llvm::Error::success();
  }

  const Opsets &opsetsOf(const onnx::FunctionProto &function) {
    auto [it, isNew] = opsets_.try_emplace(&function);
    if (isNew)
      for (const auto &import : function.opset_import())
        it->second[canonicalDomain(import.domain())] = import.version();
    return it->second;
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
    // Formal names are looked up, and those of the call hashed, even where the body is empty.
    uint64_t names =
        bytesOf(function.input()) + bytesOf(function.output()) + bytesOf(call.input()) + bytesOf(call.output());
    if (llvm::Error error = draw(Kind::Steps, 1 + names / 8, call))
      return error;
    stack_.push_back(&function);
    const Opsets &opsets = opsetsOf(function);
    // The number makes it unique, the rest is for the reader.
    llvm::StringRef name = call.name().empty() ? call.op_type() : call.name();
    std::string prefix = "call" + std::to_string(numCalls_++) + "." + name.take_back(64).str() + "/";
    Actual actual = bindNames(call, function);
    for (const onnx::NodeProto &inner : function.node()) {
      if (llvm::Error error = draw(Kind::Bytes, instantiatedBytes(inner, call, prefix, actual), call))
        return error;
      graph_.inlined.push_back(instantiate(inner, call, prefix, actual));
      if (llvm::Error error = add(graph_.inlined.back(), opsets))
        return error;
    }
    stack_.pop_back();
    return llvm::Error::success();
  }

  // Formal inputs that the call leaves out become the empty name, which is ONNX's "absent".
  static Actual bindNames(const onnx::NodeProto &call, const onnx::FunctionProto &function) {
    Actual actual;
    for (int i = 0; i < function.input_size(); ++i)
      actual[function.input(i)] = i < call.input_size() ? llvm::StringRef(call.input(i)) : "";
    for (int i = 0; i < function.output_size(); ++i)
      if (i < call.output_size() && !call.output(i).empty())
        actual[function.output(i)] = call.output(i);
    return actual;
  }

  // The attribute of the call that an attribute of the body refers to; null when the call has none.
  static const onnx::AttributeProto *given(const onnx::NodeProto &call, const onnx::AttributeProto &attribute) {
    auto found = llvm::find_if(
        call.attribute(), [&](const onnx::AttributeProto &one) { return one.name() == attribute.ref_attr_name(); });
    return found == call.attribute().end() ? nullptr : &*found;
  }

  // Memory of what `instantiate` makes, known before it is made.
  static uint64_t instantiatedBytes(const onnx::NodeProto &inner, const onnx::NodeProto &call,
                                    const std::string &prefix, const Actual &actual) {
    uint64_t bytes = sizeof(onnx::NodeProto) + inner.name().size() + prefix.size();
    for (const Names *names : {&inner.input(), &inner.output()})
      for (const std::string &name : *names) {
        auto it = actual.find(name);
        bytes += sizeof(std::string) + (it == actual.end() ? prefix.size() + name.size() : it->second.size());
      }
    for (const onnx::AttributeProto &attribute : inner.attribute()) {
      const auto *copied = attribute.ref_attr_name().empty() ? &attribute : given(call, attribute);
      bytes += copied ? copied->SpaceUsedLong() : 0;
      if (attribute.has_g())
        for (const onnx::NodeProto &node : attribute.g().node())
          bytes += instantiatedBytes(node, call, prefix, actual);
    }
    return bytes;
  }

  static std::string renamed(const std::string &name, const std::string &prefix, const Actual &actual) {
    auto it = actual.find(name);
    return name.empty() || it != actual.end() ? (name.empty() ? "" : it->second.str()) : prefix + name;
  }

  // A node's own graph (If, Loop, Scan) reads the names around it: those of the function.
  static void instantiateGraph(onnx::GraphProto &graph, const onnx::NodeProto &call, const std::string &prefix,
                               const Actual &actual) {
    auto rename = [&](auto &items) {
      for (auto &item : items)
        item.set_name(renamed(item.name(), prefix, actual));
    };
    rename(*graph.mutable_input());
    rename(*graph.mutable_output());
    rename(*graph.mutable_value_info());
    rename(*graph.mutable_initializer());
    for (onnx::NodeProto &node : *graph.mutable_node())
      node = instantiate(node, call, prefix, actual);
  }

  static onnx::NodeProto instantiate(const onnx::NodeProto &inner, const onnx::NodeProto &call,
                                     const std::string &prefix, const Actual &actual) {
    auto rename = [&](const std::string &name) { return renamed(name, prefix, actual); };
    onnx::NodeProto node;
    node.set_name(prefix + inner.name());
    node.set_op_type(inner.op_type());
    node.set_domain(inner.domain());
    for (const std::string &name : inner.input())
      node.add_input(rename(name));
    for (const std::string &name : inner.output())
      node.add_output(rename(name));
    for (const onnx::AttributeProto &attribute : inner.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        *node.add_attribute() = attribute;
        if (attribute.has_g())
          instantiateGraph(*node.mutable_attribute()->rbegin()->mutable_g(), call, prefix, actual);
      } else if (const onnx::AttributeProto *actualAttribute = given(call, attribute)) {
        *node.add_attribute() = *actualAttribute;
        node.mutable_attribute()->rbegin()->set_name(attribute.name());
      }
    }
    return node;
  }

  const ModelFile &file_;
  FlatGraph &graph_;
  Budget &budget_;
  std::map<const onnx::FunctionProto *, Opsets> opsets_;
  llvm::StringMap<const onnx::FunctionProto *> functions_;
  llvm::SmallVector<const onnx::FunctionProto *> stack_;
  size_t numCalls_ = 0;
};

} // namespace

llvm::Error cleave::onnx_import::inlineFunctions(const ModelFile &file, const onnx::GraphProto &from, FlatGraph &graph,
                                                 Budget &budget) {
  return Inliner(file, graph, budget).run(from);
}
