// Expands model-local functions (FunctionProto) like macros. Formal names become actual names, inner names get the
// call's name as a prefix, and attribute references become the call's attributes.
//
// A few functions that call each other can expand to exponentially many nodes. So the nodes of a call are counted and
// drawn from the budget before it is expanded. Every call, name and copy is drawn, too.
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Import/ONNX/Operators/KnownOperators.h"
#include "dialects/Cleave/IR/Budget.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

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

  llvm::Error run(const onnx::GraphProto &from, const Opsets &opsets) {
    for (const onnx::NodeProto &node : from.node()) {
      if (llvm::Error error = checkNoReferences(node))
        return error;
      if (llvm::Error error = add(node, opsets))
        return error;
    }
    return llvm::Error::success();
  }

private:
  // Only nodes of a function may refer to attributes: those of its calls.
  static llvm::Error checkNoReferences(const onnx::NodeProto &node) {
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (!attribute.ref_attr_name().empty())
        return makeError(FlatNode{&node, nullptr}.describe() + ": attribute " + quote(attribute.name()) +
                         " refers to an attribute " + quote(attribute.ref_attr_name()) +
                         " of a function (ref_attr_name), and the node is in no function; give the value");
      llvm::SmallVector<const onnx::GraphProto *> graphs = {&attribute.g()};
      for (const onnx::GraphProto &graph : attribute.graphs())
        graphs.push_back(&graph);
      for (const onnx::GraphProto *graph : graphs)
        for (const onnx::NodeProto &inner : graph->node())
          if (llvm::Error error = checkNoReferences(inner))
            return error;
    }
    return llvm::Error::success();
  }

  // The attributes of a call of a function: those of its node, and the function's defaults of others.
  using Call = llvm::StringMap<const onnx::AttributeProto *>;
  using Actual = llvm::DenseMap<llvm::StringRef, llvm::StringRef>;

  llvm::Error draw(Kind kind, uint64_t amount, const onnx::NodeProto &node) {
    if (budget_.draw(kind, amount, [&] { return FlatNode{&node, nullptr}.describe(); }))
      return llvm::Error::success();
    return makeError(*budget_.refusal());
  }

  llvm::Error add(const onnx::NodeProto &node, const Opsets &opsets) {
    const onnx::FunctionProto *function = calledBy(node, opsets);
    if (stack_.empty()) // the nodes of inner calls are among those of the outer call
      if (llvm::Error error = draw(Kind::Nodes, function ? countNodes(*function, 0) : 1, node))
        return error;
    if (!function) {
      graph_.nodes.push_back({&node, &opsets});
      return llvm::Error::success();
    }
    if (opsets.count(canonicalDomain(node.domain())) == 0)
      return makeError(FlatNode{&node, nullptr}.describe() + " calls a function of the domain " + quote(node.domain()) +
                       ", which the " + (stack_.empty() ? "model" : "function " + quote(stack_.back()->name())) +
                       " does not import; add the domain to its opset_import");
    return expand(node, *function);
  }

  // Returns the called function, or null if the node is an operator. If a function has the name of a standard operator,
  // the standard does not say which of them a call means. onnxruntime uses the operator.
  const onnx::FunctionProto *calledBy(const onnx::NodeProto &node, const Opsets &opsets) const {
    auto it = file_.functions.find(functionKey(node));
    return it == file_.functions.end() || isStandardOperator({&node, &opsets}) ? nullptr : it->second;
  }

  // Returns the number of nodes of a call of the function. Calls that are nested too deep count as 0, for example those
  // of a function that calls itself, because expand() refuses them.
  uint64_t countNodes(const onnx::FunctionProto &function, size_t depth) {
    auto [it, isNew] = numNodes_.try_emplace(&function, 0);
    if (!isNew || depth == kMaxDepth)
      return it->second;
    uint64_t count = 0;
    for (const onnx::NodeProto &node : function.node()) {
      const onnx::FunctionProto *called = calledBy(node, opsetsOf(function));
      count = llvm::SaturatingAdd(count, called ? countNodes(*called, depth + 1) : uint64_t{1});
    }
    return numNodes_[&function] = count;
  }

  const Opsets &opsetsOf(const onnx::FunctionProto &function) {
    auto [it, isNew] = graph_.functionOpsets.try_emplace(&function);
    if (isNew)
      for (const auto &import : function.opset_import())
        it->second[canonicalDomain(import.domain())] = import.version();
    return it->second;
  }

  const std::vector<onnx::AttributeProto> &defaultsOf(const onnx::FunctionProto &function) {
    auto [it, isNew] = defaults_.try_emplace(&function);
    if (isNew)
      it->second = defaultAttributes(function);
    return it->second;
  }

  // Returns the names that nodes of the function's body define.
  const llvm::StringSet<> &madeBy(const onnx::FunctionProto &function) {
    auto [it, isNew] = made_.try_emplace(&function);
    if (isNew)
      for (const onnx::NodeProto &node : function.node())
        it->second.insert(node.output().begin(), node.output().end());
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
    // Formal names are looked up and names of the call are hashed, even if the body is empty.
    uint64_t names =
        bytesOf(function.input()) + bytesOf(function.output()) + bytesOf(call.input()) + bytesOf(call.output());
    for (const onnx::AttributeProto &attribute : call.attribute())
      names += attribute.name().size() + 1;
    for (const onnx::AttributeProto &attribute : defaultsOf(function))
      names += attribute.name().size() + 1;
    if (llvm::Error error = draw(Kind::Work, 1 + names / 8, call))
      return error;
    const Opsets &opsets = opsetsOf(function);
    if (llvm::Error error = checkNewestOpset("function " + quote(function.name()), opsets.lookup("")))
      return error;
    const llvm::StringSet<> &made = madeBy(function);
    for (int i = 0; i < call.output_size(); ++i)
      if (!call.output(i).empty() && !made.contains(function.output(i)))
        return makeError("function " + quote(function.name()) + " has the output " + quote(function.output(i)) +
                         ", which none of its nodes defines");
    stack_.push_back(&function);
    // The number makes the prefix unique, the rest is for readers.
    llvm::StringRef name = call.name().empty() ? call.op_type() : call.name();
    std::string prefix = "call" + std::to_string(graph_.numCalls++) + "." + name.take_back(64).str() + "/";
    Actual actual = bindNames(call, function);
    Call bound;
    for (const onnx::AttributeProto &attribute : call.attribute())
      bound.try_emplace(attribute.name(), &attribute);
    for (const onnx::AttributeProto &attribute : defaultsOf(function))
      bound.try_emplace(attribute.name(), &attribute);
    for (const onnx::NodeProto &inner : function.node()) {
      if (llvm::Error error = draw(Kind::Bytes, instantiatedBytes(inner, bound, prefix, actual), call))
        return error;
      graph_.inlined.push_back(instantiate(inner, bound, prefix, actual));
      if (llvm::Error error = add(graph_.inlined.back(), opsets))
        return error;
    }
    stack_.pop_back();
    return llvm::Error::success();
  }

  // Maps formal names to the call's names. Formal inputs that the call omits become the empty name, which means
  // "absent" in ONNX.
  static Actual bindNames(const onnx::NodeProto &call, const onnx::FunctionProto &function) {
    Actual actual;
    for (int i = 0; i < function.input_size(); ++i)
      actual[function.input(i)] = i < call.input_size() ? llvm::StringRef(call.input(i)) : "";
    for (int i = 0; i < function.output_size(); ++i)
      if (i < call.output_size() && !call.output(i).empty())
        actual[function.output(i)] = call.output(i);
    return actual;
  }

  // Returns the attribute that `attribute` of the body refers to: the call's, or else the function's default. Returns
  // null if there is neither.
  static const onnx::AttributeProto *given(const Call &call, const onnx::AttributeProto &attribute) {
    return call.lookup(attribute.ref_attr_name());
  }

  // Returns the memory that instantiate() will use.
  static uint64_t instantiatedBytes(const onnx::NodeProto &inner, const Call &call, const std::string &prefix,
                                    const Actual &actual) {
    uint64_t bytes = sizeof(onnx::NodeProto) + inner.name().size() + prefix.size() +
                     inner.GetReflection()->GetUnknownFields(inner).SpaceUsedLong();
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

  // Renames the values of a node's own graph (If, Loop, Scan). It reads names of the function around it.
  static void instantiateGraph(onnx::GraphProto &graph, const Call &call, const std::string &prefix,
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

  static onnx::NodeProto instantiate(const onnx::NodeProto &inner, const Call &call, const std::string &prefix,
                                     const Actual &actual) {
    onnx::NodeProto node = inner; // with fields that older protobuf classes do not know: overload, metadata
    node.set_name(prefix + inner.name());
    for (Names *names : {node.mutable_input(), node.mutable_output()})
      for (std::string &name : *names)
        name = renamed(name, prefix, actual);
    node.clear_attribute();
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
  std::map<const onnx::FunctionProto *, std::vector<onnx::AttributeProto>> defaults_;
  std::map<const onnx::FunctionProto *, llvm::StringSet<>> made_;
  std::map<const onnx::FunctionProto *, uint64_t> numNodes_; // functions that countNodes() has visited
  llvm::SmallVector<const onnx::FunctionProto *> stack_;
};

} // namespace

llvm::Error cleave::onnx_import::inlineFunctions(const ModelFile &file, const onnx::GraphProto &from,
                                                 const Opsets &opsets, FlatGraph &graph, Budget &budget) {
  return Inliner(file, graph, budget).run(from, opsets);
}
