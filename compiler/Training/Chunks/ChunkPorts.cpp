#include "compiler/Training/Chunks/ChunkPorts.h"

#include "dialects/Cleave/IR/Attributes.h"

using namespace mlir;

namespace cleave {

static DictionaryAttr orEmpty(DictionaryAttr attributes, MLIRContext *context) {
  return attributes ? attributes : DictionaryAttr::get(context);
}

ChunkPorts::ChunkPorts(func::FuncOp function) : function(function) {
  MLIRContext *context = function.getContext();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(orEmpty(function.getArgAttrDict(i), context));
  for (Value value : body().getTerminator()->getOperands()) {
    results.push_back(orEmpty(function.getResultAttrDict(returned.size()), context));
    returned.push_back(value);
  }
}

llvm::SmallVector<ChunkPorts::Edge> ChunkPorts::outEdges() const {
  llvm::SmallVector<Edge> edges;
  for (auto [value, attributes] : llvm::zip_equal(returned, results))
    if (auto name = attributes.getAs<StringAttr>(kEdgeAttr))
      edges.push_back({value, name.str()});
  return edges;
}

llvm::SmallVector<ChunkPorts::Edge> ChunkPorts::inEdges() const {
  llvm::SmallVector<Edge> edges;
  for (auto [index, attributes] : llvm::enumerate(arguments))
    if (auto name = attributes.getAs<StringAttr>(kEdgeAttr); name && !attributes.get(kCotangentAttr))
      edges.push_back({function.getArgument(index), name.str()});
  return edges;
}

DictionaryAttr ChunkPorts::edgeAttributes(llvm::StringRef kind, llvm::StringRef edge) {
  Builder builder(function.getContext());
  NamedAttrList attributes;
  if (!kind.empty())
    attributes.set(kind, builder.getUnitAttr());
  if (!edge.empty())
    attributes.set(kEdgeAttr, builder.getStringAttr(edge));
  return attributes.getDictionary(builder.getContext());
}

BlockArgument ChunkPorts::addArgument(llvm::StringRef kind, llvm::StringRef edge, Value like) {
  return addArgument(edgeAttributes(kind, edge), like);
}

BlockArgument ChunkPorts::addArgument(DictionaryAttr attributes, Value like) {
  arguments.push_back(orEmpty(attributes, function.getContext()));
  return body().addArgument(like.getType(), like.getLoc());
}

void ChunkPorts::addResult(DictionaryAttr attributes, Value value) {
  results.push_back(orEmpty(attributes, function.getContext()));
  returned.push_back(value);
}

void ChunkPorts::addResult(llvm::StringRef edge, Value value) { addResult(edgeAttributes("", edge), value); }

void ChunkPorts::dropResults(unsigned from) {
  results.truncate(from);
  returned.truncate(from);
}

void ChunkPorts::dropEdges(llvm::function_ref<bool(llvm::StringRef)> isDropped) {
  for (unsigned i = results.size(); i-- > 0;)
    if (auto name = results[i].getAs<StringAttr>(kEdgeAttr); name && isDropped(name)) {
      results.erase(results.begin() + i);
      returned.erase(returned.begin() + i);
    }
}

void ChunkPorts::finish() {
  Builder builder(function.getContext());
  body().getTerminator()->setOperands(returned);
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  function.setFunctionType(builder.getFunctionType(body().getArgumentTypes(), ValueRange(returned).getTypes()));
  function.setAllArgAttrs(arguments);
  if (llvm::any_of(results, [](DictionaryAttr attributes) { return !attributes.empty(); }))
    function.setAllResultAttrs(results);
}

} // namespace cleave
