#include "compiler/Training/Residuals/SplitFunction.h"

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Chunks/ChunkPorts.h"
#include "compiler/Training/Residuals/ResidualChoice.h"
#include "compiler/Training/Residuals/UnitAnchors.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave {

namespace {

// Reductions to a quarter of the elements or fewer. Keeping the result is cheap, and repeating them costs a pass over
// their operand.
bool isShrinking(Operation *op) {
  int64_t read = 0, written = 0;
  for (Value operand : op->getOperands())
    read = std::max(read, tensorType(operand).getNumElements());
  for (Value result : op->getResults())
    written = std::max(written, tensorType(result).getNumElements());
  return op->getNumOperands() > 0 && 4 * written <= read;
}

// A value that is computed again must have the same bits, although the second half has other kernels than the first.
bool isRecomputable(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || !compute.isReproducible())
    return false;
  return compute.getComputeKind() == ComputeKind::View || !isShrinking(op);
}

// Returns the operand of a view if the value is a part of it (a slice), or null.
Value wholeOf(Value value) {
  auto view = value.getDefiningOp<ComputeOpInterface>();
  if (!view || view.getComputeKind() != ComputeKind::View || view->getNumOperands() != 1)
    return nullptr;
  Value operand = view->getOperand(0);
  return byteSize(operand.getType()) > byteSize(value.getType()) ? operand : Value();
}

// A part of nearly all of its operand (a padded product's columns) would be a copy. Keeping the operand needs none, so
// the part is made more expensive than its operand.
int64_t bytesToKeep(Value value) {
  int64_t bytes = byteSize(value.getType());
  Value operand = wholeOf(value);
  if (!operand)
    return bytes;
  int64_t whole = byteSize(operand.getType());
  return whole - bytes < whole / 16 ? whole + whole / 16 : bytes;
}

// The first half as a graph of ResidualChoice, and the index of each value.
struct ForwardGraph {
  ResidualGraph graph;
  llvm::MapVector<Value, int> index;

  explicit ForwardGraph(const JointFunction &joint) : anchors(findUnitAnchors(joint)) {
    Block &block = joint.function.getBody().front();
    for (BlockArgument arg : block.getArguments())
      if (!joint.seeds.contains(arg))
        add(arg, joint);
    for (Operation &op : block.without_terminator()) {
      if (joint.backward.contains(&op)) {
        for (Value operand : op.getOperands())
          if (auto found = index.find(operand); found != index.end())
            graph.values[found->second].needed = true;
        continue;
      }
      ResidualGraph::Op node;
      node.recomputable = isRecomputable(&op);
      for (Value operand : op.getOperands())
        node.operands.push_back(index.lookup(operand));
      for (Value result : op.getResults())
        node.results.push_back(add(result, joint));
      graph.ops.push_back(std::move(node));
    }
  }

private:
  int add(Value value, const JointFunction &joint) {
    int number = static_cast<int>(graph.values.size());
    index[value] = number;
    graph.values.push_back({bytesToKeep(value), joint.isFree(value), false, anchors.contains(value)});
    return number;
  }

  llvm::DenseSet<Value> anchors;
};

bool isOfFirst(const JointFunction &joint, Value result) { return !joint.isBackward(result); }

// Builds the first half. It returns its own results, and then the kept values.
func::FuncOp buildFirst(const JointFunction &joint, const SplitNames &names, ArrayRef<Value> kept) {
  OpBuilder builder(joint.function);
  IRMapping mapping;
  auto first = cast<func::FuncOp>(builder.clone(*joint.function, mapping));
  first.setName(names.first);
  Block &block = first.getBody().front();
  ChunkPorts ports(first);
  ports.dropResults(0);
  for (auto &[value, edge] : ChunkPorts(joint.function).outEdges())
    if (isOfFirst(joint, value))
      ports.addResult(edge, mapping.lookup(value));
  for (auto [i, value] : llvm::enumerate(kept))
    ports.addResult(names.keptEdge.empty() ? "" : names.keptEdge + std::to_string(i), mapping.lookup(value));
  ports.finish();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(joint.function.getBody().front())))
    if (joint.backward.contains(&op))
      mapping.lookup(&op)->erase();
  for (BlockArgument argument : llvm::reverse(joint.function.getArguments()))
    if (joint.seeds.contains(argument))
      (void)first.eraseArgument(argument.getArgNumber());
  eraseDeadOps(block);
  return first;
}

// Builds the second half. Its arguments are the kept values and those arguments of the whole that it reads. It writes
// its states, and returns the results that the first half does not.
class SecondHalfBuilder {
public:
  // `firstKept` is the number of the first kept value among the first half's results.
  SecondHalfBuilder(const JointFunction &joint, const SplitNames &names, ArrayRef<Value> kept, unsigned firstKept)
      : joint(joint), names(names), kept(kept), firstKept(firstKept), builder(joint.function) {}

  func::FuncOp build() {
    Location loc = joint.function.getLoc();
    auto second = func::FuncOp::create(builder, loc, names.second, builder.getFunctionType({}, {}));
    block = second.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    auto terminator = func::ReturnOp::create(builder, loc);
    builder.setInsertionPoint(terminator);
    ports.emplace(second);
    for (auto [i, value] : llvm::enumerate(kept)) {
      numberOfKept.try_emplace(value, i);
      mapping.map(value, ports->addArgument(attributesOfKept(i), value));
    }
    if (joint.seed)
      mapping.map(joint.seed, Arithmetic(builder, loc).splat(tensorType(joint.seed), 1));
    for (Operation &op : joint.function.getBody().front().without_terminator())
      if (joint.backward.contains(&op))
        cloneWithOperands(&op);
    for (ChunkPorts::Edge &edge : ChunkPorts(joint.function).outEdges())
      if (!isOfFirst(joint, edge.value)) {
        if (auto argument = dyn_cast<BlockArgument>(edge.value); argument && !mapping.contains(argument))
          addInput(argument); // a gradient that is passed on unchanged
        ports->addResult(edge.name, mapping.lookup(edge.value));
      }
    ports->finish();
    return second;
  }

private:
  DictionaryAttr attributesOfKept(unsigned i) {
    return builder.getDictionaryAttr(
        names.keptEdge.empty()
            ? builder.getNamedAttr(kResidualAttr, builder.getI64IntegerAttr(firstKept + i))
            : builder.getNamedAttr(kEdgeAttr, builder.getStringAttr(names.keptEdge + std::to_string(i))));
  }

  void addInput(BlockArgument argument) {
    NamedAttrList input(joint.function.getArgAttrDict(argument.getArgNumber()));
    input.erase(kCotangentAttr); // only joint functions have it
    mapping.map(argument, ports->addArgument(input.getDictionary(builder.getContext()), argument));
  }

  // Clones the op, and before it all ops that it needs and that have no clone yet. So a recomputed value is right
  // before its first use, and is alive for a short time. A stack replaces recursion, because chains of recomputed
  // values may be long.
  void cloneWithOperands(Operation *root) {
    SmallVector<Operation *> stack = {root};
    while (!stack.empty()) {
      Operation *op = stack.back();
      bool ready = true;
      for (Value operand : op->getOperands()) {
        if (mapping.contains(operand))
          continue;
        if (auto arg = dyn_cast<BlockArgument>(operand)) {
          addInput(arg);
          continue;
        }
        stack.push_back(operand.getDefiningOp());
        ready = false;
      }
      if (!ready)
        continue;
      stack.pop_back();
      bool done =
          op->getNumResults() > 0 && llvm::all_of(op->getResults(), [&](Value v) { return mapping.contains(v); });
      if (!done)
        cloneOnce(op);
    }
  }

  // If a recomputed op has several results, a kept one stays the kept value.
  void cloneOnce(Operation *op) {
    Operation *copy = builder.clone(*op, mapping);
    for (auto [old, fresh] : llvm::zip_equal(op->getResults(), copy->getResults()))
      if (auto found = numberOfKept.find(old); found != numberOfKept.end())
        mapping.map(old, block->getArgument(found->second));
      else
        mapping.map(old, fresh);
  }

  const JointFunction &joint;
  const SplitNames &names;
  ArrayRef<Value> kept;
  llvm::DenseMap<Value, unsigned> numberOfKept;
  unsigned firstKept;
  OpBuilder builder;
  Block *block = nullptr;
  std::optional<ChunkPorts> ports;
  IRMapping mapping;
};

std::vector<int> neededValues(const ResidualGraph &graph) {
  std::vector<int> needed;
  for (size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].needed && !graph.values[i].free)
      needed.push_back(static_cast<int>(i));
  return needed;
}

} // namespace

llvm::SmallVector<Value> chooseKept(const JointFunction &joint, bool keepAll) {
  ForwardGraph first(joint);
  llvm::SmallVector<Value> kept;
  for (int index : keepAll ? neededValues(first.graph) : chooseResiduals(first.graph))
    kept.push_back(first.index.getArrayRef()[index].first);
  return kept;
}

func::FuncOp buildFirstHalf(const JointFunction &joint, const SplitNames &names, ArrayRef<Value> kept) {
  return buildFirst(joint, names, kept);
}

func::FuncOp buildSecondHalf(const JointFunction &joint, const SplitNames &names, ArrayRef<Value> kept,
                             func::FuncOp first) {
  return SecondHalfBuilder(joint, names, kept, first.getNumResults() - kept.size()).build();
}

void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void markSharedResiduals(func::FuncOp first, func::FuncOp second) {
  llvm::DenseSet<Attribute> later;
  for (unsigned i = 0; i < second.getNumArguments(); ++i)
    if (Attribute residual = second.getArgAttr(i, kResidualAttr))
      later.insert(residual);
  for (unsigned i = 0; i < first.getNumArguments(); ++i) {
    Attribute residual = first.getArgAttr(i, kResidualAttr);
    if (residual && later.contains(residual))
      first.setArgAttr(i, kSharedResidualAttr, UnitAttr::get(first.getContext()));
    else
      first.removeArgAttr(i, kSharedResidualAttr);
  }
}

} // namespace cleave
