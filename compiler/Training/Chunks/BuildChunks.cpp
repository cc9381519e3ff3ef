#include "compiler/Training/Chunks/BuildChunks.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Chunks/ChunkPorts.h"
#include "compiler/Training/States.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace cleave {

namespace {

// Values that later chunks use, with the names of their edges.
using Edges = llvm::MapVector<Value, std::string>;

// The model's inputs that no chunk has as an argument yet.
using Inputs = llvm::SetVector<Value>;

class ChunkBuilder {
public:
  ChunkBuilder(func::FuncOp model, const ModelGraph &graph, const pipeline::Cut &cut, unsigned chunk, Edges &edges,
               Inputs &untaken)
      : model(model), module(model->getParentOfType<ModuleOp>()), graph(graph), cut(cut), chunk(chunk), edges(edges),
        untaken(untaken), builder(model) {}

  void build() {
    function = func::FuncOp::create(builder, model.getLoc(), chunkName(chunk), builder.getFunctionType({}, {}));
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    auto terminator = func::ReturnOp::create(builder, model.getLoc());
    builder.setInsertionPoint(terminator);
    ports.emplace(function);
    // Reads of a state that this chunk changes come first: they read the value from before the change.
    for (Operation &op : model.getBody().front())
      if (auto follower = graph.followers.find(&op); follower != graph.followers.end() && isHere(follower->second))
        builder.clone(op, mapping);
    for (Operation &op : model.getBody().front().without_terminator())
      if (auto node = graph.nodeOf.find(&op); node != graph.nodeOf.end() && isHere(node->second))
        addOp(op);
    returnEdges();
    if (chunk + 1 == cut.stages.size()) {
      returnLoss();
      while (!untaken.empty()) // so that a step has all of the model's inputs, however it is cut
        addFromOutside(untaken.front());
    }
    for (WriteOp write : graph.counterWrites)
      count(write);
    ports->finish();
  }

private:
  bool isHere(int node) const { return cut.stageOf(node) == static_cast<int>(chunk); }

  // Clones the op, and before it the sources that it needs. It uses a stack instead of recursion, because chains of
  // sources may be long.
  void addOp(Operation &root) {
    llvm::SmallVector<Operation *> stack = {&root};
    while (!stack.empty()) {
      Operation *op = stack.back();
      bool ready = true;
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand) && !addFromOutside(operand)) {
          stack.push_back(operand.getDefiningOp());
          ready = false;
        }
      if (!ready)
        continue;
      stack.pop_back();
      if (op->getNumResults() == 0 || !mapping.contains(op->getResult(0)))
        builder.clone(*op, mapping);
    }
  }

  // Adds an argument for an input or an edge. False for a value that this chunk computes itself: a source or a
  // follower.
  bool addFromOutside(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      mapping.map(value, ports->addArgument(model.getArgAttrDict(argument.getArgNumber()), value));
      untaken.remove(value);
      return true;
    }
    auto edge = edges.find(value);
    if (edge == edges.end())
      return false;
    mapping.map(value, ports->addArgument("", edge->second, value));
    return true;
  }

  Value get(Value value) {
    if (!mapping.contains(value) && !addFromOutside(value))
      addOp(*value.getDefiningOp());
    return mapping.lookup(value);
  }

  // Returns the values that are made here and used in later chunks.
  void returnEdges() {
    for (Operation *op : graph.ops)
      for (Value result : op->getResults()) {
        auto isLater = [&](Operation *user) {
          auto node = graph.nodeOf.find(user);
          return node != graph.nodeOf.end() && cut.stageOf(node->second) > static_cast<int>(chunk);
        };
        if (!isHere(graph.nodeOf.lookup(op)) || llvm::none_of(result.getUsers(), isLater))
          continue;
        std::string name = chunkName(chunk) + ":" + std::to_string(number++);
        edges.insert({result, name});
        ports->addResult(name, mapping.lookup(result));
      }
  }

  void returnLoss() {
    for (OpOperand &result : model.getBody().front().getTerminator()->getOpOperands())
      ports->addResult(model.getResultAttrDict(result.getOperandNumber()), get(result.get()));
  }

  // Adds the counter of micro-batches if the chunk uses it. The first such chunk has the state itself, and each further
  // one has a copy.
  void count(WriteOp write) {
    auto reads = llvm::make_filter_range(function.getBody().front().getOps<ReadOp>(),
                                         [&](ReadOp read) { return read.getState() == write.getState(); });
    if (reads.empty())
      return;
    addOp(*write);
    std::string name = write.getState().str();
    bool isTaken = llvm::any_of(module.getOps<func::FuncOp>(), [&](func::FuncOp other) {
      return other != function && other != model &&
             llvm::any_of(other.getBody().front().getOps<WriteOp>(),
                          [&](WriteOp counted) { return counted.getState() == name; });
    });
    if (!isTaken)
      return;
    StateOp own = getScalar(module, name + "." + chunkName(chunk), tensorType(write.getValue()).getElementType());
    for (Operation &op : function.getBody().front())
      if (auto read = dyn_cast<ReadOp>(op); read && read.getState() == name)
        read.setState(own.getSymName());
      else if (auto counted = dyn_cast<WriteOp>(op); counted && counted.getState() == name)
        counted.setState(own.getSymName());
  }

  func::FuncOp model;
  ModuleOp module;
  const ModelGraph &graph;
  const pipeline::Cut &cut;
  unsigned chunk;
  Edges &edges;
  Inputs &untaken;
  OpBuilder builder;
  func::FuncOp function;
  std::optional<ChunkPorts> ports;
  IRMapping mapping;
  int number = 0; // of edges that leave this chunk
};

} // namespace

void buildChunks(func::FuncOp model, const ModelGraph &graph, const pipeline::Cut &cut) {
  Edges edges;
  Inputs untaken(model.args_begin(), model.args_end());
  for (unsigned chunk = 0; chunk < cut.stages.size(); ++chunk)
    ChunkBuilder(model, graph, cut, chunk, edges, untaken).build();
  model.erase();
}

} // namespace cleave
