#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/Metadata.h"
#include "compiler/Support/NodeNote.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace cleave::onnx_import;

int64_t FlatNode::opset() const { return opsets->lookup(canonicalDomain(proto->domain())); }

// Returns the path of the PyTorch module that the node is of, or an empty text. torch.onnx.export(dynamo=True) writes
// the paths of all modules around the node, and then the node: ['', 'layer1', 'layer1.0', 'conv2d'].
static std::string moduleOf(const onnx::NodeProto &node) {
  constexpr int kMetadata = 9; // NodeProto.metadata_props
  std::string text =
      findMetadata(node, kMetadata, [](llvm::StringRef key) { return key == "pkg.torch.onnx.name_scopes"; });
  llvm::SmallVector<llvm::StringRef> scopes;
  llvm::StringRef(text).trim("[]").split(scopes, ", ");
  llvm::StringRef path = scopes.size() < 2 ? "" : scopes[scopes.size() - 2].trim('\'');
  return path.starts_with("_empty_nn_module_stack") ? "" : path.str();
}

std::string FlatNode::shortName() const {
  if (proto->name().empty() && proto->output_size() != 0)
    return "producing " + quote(proto->output(0));
  std::string module = moduleOf(*proto);
  return quote(module.empty() ? proto->name() : module + "/" + proto->name());
}

std::string FlatNode::describe() const { return nodeNote(shortName(), proto->op_type()); }

static void visitNodes(const onnx::NodeProto &node, llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  visit(node);
  for (const onnx::AttributeProto &attribute : node.attribute())
    for (const onnx::NodeProto &inner : attribute.g().node())
      visitNodes(inner, visit);
}

void cleave::onnx_import::forEachNode(const FlatGraph &graph, llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  for (const FlatNode &node : graph.nodes)
    visitNodes(*node.proto, visit);
}

// Adds the names of graph inputs and initializers to `defined`. An initializer may have an input's name; it is then the
// input's default value.
static llvm::Error collectDefined(const onnx::GraphProto &graph, llvm::StringSet<> &defined) {
  for (const auto &input : graph.input()) {
    if (input.name().empty())
      return makeError("a graph input has no name");
    if (!defined.insert(input.name()).second)
      return makeError("input " + quote(input.name()) + " is declared twice");
  }
  llvm::StringSet<> initializers;
  for (const auto &tensor : graph.initializer()) {
    if (tensor.name().empty())
      return makeError("an initializer has no name");
    if (!initializers.insert(tensor.name()).second)
      return makeError("initializer " + quote(tensor.name()) + " is defined twice");
    defined.insert(tensor.name());
  }
  if (graph.sparse_initializer_size() > 0)
    return makeError("the graph has sparse initializers, which are not read; save them dense");
  return llvm::Error::success();
}

static llvm::StringSet<> ownNames(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const auto &input : graph.input())
    names.insert(input.name());
  for (const auto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      names.insert(output);
  return names;
}

// Appends the names that a node's branches read from outside.
static void addCaptured(const onnx::NodeProto &node, std::vector<std::string> &names) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    std::vector<std::string> read;
    for (const onnx::NodeProto &inner : attribute.g().node()) {
      read.insert(read.end(), inner.input().begin(), inner.input().end());
      addCaptured(inner, read);
    }
    for (const auto &output : attribute.g().output())
      read.push_back(output.name());
    llvm::StringSet<> own = ownNames(attribute.g());
    llvm::copy_if(read, std::back_inserter(names), [&](const std::string &name) { return !own.contains(name); });
  }
}

static llvm::Error sortNodes(std::vector<FlatNode> &nodes, const llvm::StringSet<> &given,
                             llvm::function_ref<bool(llvm::StringRef)> isOuter) {
  llvm::StringMap<size_t> producer;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].proto->output())
      if (!output.empty() && (given.contains(output) || isOuter(output) || !producer.try_emplace(output, i).second))
        return makeError(nodes[i].describe() + " defines " + quote(output) + ", which is defined already");

  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> missing(nodes.size(), 0);
  bool sorted = true;
  auto depend = [&](size_t user, size_t on) {
    sorted &= on < user;
    users[on].push_back(user);
    ++missing[user];
  };
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string &input : nodes[i].proto->input()) {
      if (input.empty() || given.contains(input))
        continue;
      auto it = producer.find(input);
      if (it == producer.end() && isOuter(input))
        continue;
      if (it == producer.end())
        return makeError(nodes[i].describe() + " reads " + quote(input) + ", which nothing defines");
      depend(i, it->second);
    }
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> captured;
    addCaptured(*nodes[i].proto, captured);
    for (const std::string &name : captured)
      if (auto it = producer.find(name); it != producer.end())
        depend(i, it->second);
  }
  // If the file's order is valid, it is kept, so that the import is easy to compare with the file.
  if (sorted)
    return llvm::Error::success();

  std::vector<size_t> order;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      order.push_back(i);
  for (size_t next = 0; next < order.size(); ++next)
    for (size_t user : users[order[next]])
      if (--missing[user] == 0)
        order.push_back(user);
  if (order.size() != nodes.size())
    for (size_t i = 0; i < nodes.size(); ++i)
      if (missing[i] != 0)
        return makeError(nodes[i].describe() +
                         " lies on a cycle: it depends on its own result; expected an acyclic graph");

  std::vector<FlatNode> reordered;
  for (size_t i : order)
    reordered.push_back(nodes[i]);
  nodes = std::move(reordered);
  return llvm::Error::success();
}

llvm::Expected<FlatGraph> cleave::onnx_import::flattenGraph(const ModelFile &file, const onnx::GraphProto &from,
                                                            const GraphSurroundings &around, Budget &budget) {
  FlatGraph graph;
  graph.numCalls = around.numCalls;
  llvm::StringSet<> defined;
  if (llvm::Error error = collectDefined(from, defined))
    return error;
  if (llvm::Error error = inlineFunctions(file, from, around.opsets, graph, budget))
    return error;
  if (llvm::Error error = sortNodes(graph.nodes, defined, around.isOuter))
    return error;
  return graph;
}
