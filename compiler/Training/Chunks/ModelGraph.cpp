#include "compiler/Training/Chunks/ModelGraph.h"

#include "compiler/CostModel/CostModel.h"
#include "compiler/Support/NodeNote.h"
#include "compiler/Training/States.h"

#include <algorithm>

using namespace mlir;

namespace cleave {

namespace {

// Tensors of a parameter's size that training keeps: the parameter, its gradient, and two moments (Adam). Other
// optimizers keep fewer, but the balance of the stages does not depend on it.
constexpr int64_t kStateCopies = 4;

// For each operand that needs a gradient, a backward pass takes about as long as the forward pass. At most this many
// operands count: a convolution or a product has two. Normalizations have more, but compute them together.
constexpr unsigned kMostGradients = 2;

// Reads and writes of a parameter's bytes, in addition to those of its kernels. In each micro-batch, the gradient is
// added to the sum, which matters if batches are small. In each step, the update reads weight, gradient and two
// moments, and writes all of them except the gradient (Adam; other optimizers need fewer).
constexpr double kGradientAccesses = 3, kUpdateAccesses = 7;

// Returns the time of the forward pass. Views cost nothing. The time of a fusible op is that of its bytes. Fusion makes
// it shorter, but in all stages alike.
double secondsOf(Operation &op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!compute || !cost || compute.getComputeKind() == ComputeKind::View)
    return 0;
  OpCost one = cost.getCost();
  Machine machine;
  machine.launchSeconds = compute.getComputeKind() == ComputeKind::Kernel ? machine.launchSeconds : 0;
  return kernelSeconds(one.flops, one.bytes, machine);
}

int64_t keptBytes(Operation &op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || compute.getComputeKind() == ComputeKind::View)
    return 0;
  int64_t bytes = 0;
  for (Value result : op.getResults())
    bytes += byteSize(result.getType());
  return bytes;
}

// Returns a name for messages: "node 'fc1' (Gemm)".
std::string nameOf(Operation &op) {
  auto name = dyn_cast<NameLoc>(op.getLoc());
  return name ? name.getName().str() : op.getName().getStringRef().str();
}

// Returns the name in the file: "fc1". Importers put it inside of the location for messages.
std::string fileNameOf(Operation &op) {
  auto name = dyn_cast<NameLoc>(op.getLoc());
  auto ofFile = name ? dyn_cast<NameLoc>(name.getChildLoc()) : NameLoc();
  return ofFile ? ofFile.getName().str() : nameOf(op);
}

} // namespace

ModelGraph::ModelGraph(func::FuncOp function, int64_t microBatches)
    : model(function), accessesOfState(kGradientAccesses + kUpdateAccesses / static_cast<double>(microBatches)) {
  SymbolTable symbols(model->getParentOfType<ModuleOp>());
  findWritten(symbols);
  // A write becomes a node right after the op that makes its value. Importers put all writes at the end, where they
  // would pin their layers to the last stage.
  llvm::DenseMap<Operation *, llvm::SmallVector<Operation *, 1>> writesOf;
  for (auto &[state, write] : writes)
    if (Operation *maker = write.getValue().getDefiningOp())
      writesOf[maker].push_back(write);
  for (Operation &op : model.getBody().front().without_terminator()) {
    if (nodeOf.contains(&op))
      continue;
    if (countGradients(symbols, op) > 0)
      differentiated.insert(&op);
    auto write = dyn_cast<WriteOp>(op);
    if (write && !writes.contains(write.getState()))
      counterWrites.push_back(write);
    else if (auto read = dyn_cast<ReadOp>(op); read && writes.contains(read.getState()))
      followers[&op] = -1; // until the writes have numbers
    else if (isSource(op))
      sources.insert(&op);
    else {
      addNode(symbols, op);
      for (Operation *ofOp : writesOf.lookup(&op))
        addNode(symbols, *ofOp);
    }
  }
  addEdges();
  keepStatesTogether();
  keepStatesWithTheirMakers();
}

void ModelGraph::findWritten(const SymbolTable &symbols) {
  for (WriteOp write : model.getBody().front().getOps<WriteOp>())
    if (!isMicroCounter(symbols.lookup<StateOp>(write.getState())))
      writes[write.getState()] = write;
}

bool ModelGraph::isSource(Operation &op) const {
  return !isa<WriteOp>(op) && llvm::all_of(op.getOperands(), [&](Value operand) {
    return operand.getDefiningOp() && sources.contains(operand.getDefiningOp());
  });
}

// Returns the number of operands that need a gradient. A read of a trainable parameter counts as one.
unsigned ModelGraph::countGradients(const SymbolTable &symbols, Operation &op) const {
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto state = symbols.lookup<StateOp>(read.getState());
    return state && state.getRole() == Role::Parameter && !state.getFrozen();
  }
  return static_cast<unsigned>(llvm::count_if(op.getOperands(), [&](Value operand) {
    return differentiated.contains(operand.getDefiningOp()) && isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  }));
}

void ModelGraph::addNode(const SymbolTable &symbols, Operation &op) {
  pipeline::CutNode node;
  node.name = nameOf(op);
  node.cost = (1 + std::min(countGradients(symbols, op), kMostGradients)) * secondsOf(op);
  node.activationBytes = keptBytes(op);
  namesOf.emplace_back();
  addStates(symbols, op, node);
  namesOf.back().push_back(fileNameOf(op));
  if (std::string shown = nodeOfNote(node.name); shown != namesOf.back().back()) // with the module that has the node
    namesOf.back().push_back(shown);
  nodeOf[&op] = static_cast<int>(ops.size());
  ops.push_back(&op);
  graph.nodes.push_back(std::move(node));
}

// Adds the parameters that the op uses, also through sources.
void ModelGraph::addStates(const SymbolTable &symbols, Operation &op, pipeline::CutNode &node) {
  llvm::SmallVector<Operation *> stack;
  llvm::DenseSet<Operation *> seen;
  auto push = [&](Operation &user) {
    for (Value operand : user.getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && sources.contains(maker) && seen.insert(maker).second)
        stack.push_back(maker);
  };
  push(op);
  while (!stack.empty()) {
    Operation *source = stack.pop_back_val();
    push(*source);
    auto read = dyn_cast<ReadOp>(source);
    auto state = read ? symbols.lookup<StateOp>(read.getState()) : StateOp();
    if (!state || state.getRole() != Role::Parameter)
      continue;
    auto [number, isNew] = stateNumbers.try_emplace(state, static_cast<int>(states.size()));
    if (isNew) {
      states.push_back(state);
      graph.stateBytes.push_back(byteSize(state.getTensorType()) * (state.getFrozen() ? 1 : kStateCopies));
    }
    node.states.push_back(number->second);
    if (!state.getFrozen())
      node.cost += accessesOfState * static_cast<double>(byteSize(state.getTensorType())) / Machine().bytesPerSecond;
    llvm::append_range(namesOf.back(), cleave::namesOf(onlySegment(state)));
  }
}

void ModelGraph::addEdges() {
  for (auto [number, op] : llvm::enumerate(ops))
    for (Value result : op->getResults()) {
      pipeline::CutEdge edge{static_cast<int>(number), {}, byteSize(result.getType())};
      for (Operation *user : result.getUsers())
        if (auto found = nodeOf.find(user); found != nodeOf.end())
          edge.to.push_back(found->second);
      if (!edge.to.empty())
        graph.edges.push_back(std::move(edge));
    }
}

// A state that the forward pass changes is in one chunk with all ops that read it, because only within a chunk the
// order of reads and writes is kept.
void ModelGraph::keepStatesTogether() {
  for (auto &[op, node] : followers) {
    node = nodeOf.lookup(writes.lookup(cast<ReadOp>(op).getState()));
    for (Operation *user : op->getResult(0).getUsers())
      if (auto found = nodeOf.find(user); found != nodeOf.end())
        together.emplace_back(found->second, node);
  }
}

// Nodes that are computed for a state alone form one run, in the chunk of the last value that they are computed from.
// For example, a batch norm's running statistics are in the chunk of its mean. Otherwise the mean would be sent to
// another stage, only to be stored there.
void ModelGraph::keepStatesWithTheirMakers() {
  llvm::DenseSet<Operation *> forStates;
  for (Operation *op : llvm::reverse(ops))
    if (isa<WriteOp>(op) ||
        (!op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) { return forStates.contains(user); })))
      forStates.insert(op);
  for (Operation *op : ops) {
    if (!forStates.contains(op))
      continue;
    int node = nodeOf.lookup(op), latest = -1;
    for (Value operand : op->getOperands()) {
      auto maker = nodeOf.find(operand.getDefiningOp());
      if (maker == nodeOf.end())
        continue;
      if (forStates.contains(maker->first))
        together.emplace_back(maker->second, node);
      else
        latest = std::max(latest, maker->second);
    }
    if (latest >= 0)
      together.emplace_back(latest, node);
  }
}

} // namespace cleave
