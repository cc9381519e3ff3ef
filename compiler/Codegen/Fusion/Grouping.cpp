#include "compiler/Codegen/Fusion/Grouping.h"

#include "compiler/Codegen/Fusion/FormedOps.h"
#include "compiler/Codegen/Fusion/RepeatValues.h"
#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/RankKinds.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;

bool cleave::isFusible(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute)
    return false;
  ComputeKind kind = compute.getComputeKind();
  return kind == ComputeKind::Fusible || (kind == ComputeKind::View && compute.getByteViews().empty());
}

SmallVector<Value> cleave::groupOutputs(const FusionGroup &group) {
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
  SmallVector<Value> outputs;
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(user); }))
        outputs.push_back(result);
  return outputs;
}

SmallVector<Value> cleave::groupInputs(const FusionGroup &group) {
  llvm::SmallPtrSet<Operation *, 16> members(group.ops.begin(), group.ops.end());
  llvm::SetVector<Value> inputs;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !members.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  return inputs.takeVector();
}

namespace {

// Groups while they grow. A node is a group; it has no ops once it was merged into another. `owner` has the node of
// each fusible op. Invariant (Grouping.h): a node is placed after everything that it reads and before everything that
// reads it.
//
//   0 a = exp x     1 b = matmul a     2 c = add a, 1     3 d = mul c, b
//
//   {a c}    a cannot move down to 2, because b reads it at 1. c moves up to 0, because it reads only a: placed at 0
//   {a c d}  d cannot move up to 0, because it reads b, made at 1. {a c} cannot move down past b: d stays alone
class FusionGrouper {
public:
  explicit FusionGrouper(Block &block) : block(block), forms(block.getParentOp()->getContext()) {}
  std::vector<FusionGroup> run();

private:
  struct Node {
    SmallVector<unsigned> ops;    // positions in the block, ascending
    unsigned position;            // of the op at which the group will be placed
    std::optional<int64_t> block; // of its ops, if they have one
    bool isOwned = false;         // only owners have its results
  };
  unsigned nodeOf(Operation *op) { return owner.lookup(op); }
  bool contains(unsigned node, Operation *op) { return owner.contains(op) && nodeOf(op) == node; }
  unsigned positionOf(Operation *op) { return owner.contains(op) ? nodes[nodeOf(op)].position : positions.lookup(op); }
  void mergeProducers(unsigned node);
  void mergeSiblings();
  bool tryMerge(unsigned a, unsigned b);
  std::optional<unsigned> positionFor(unsigned earlier, unsigned later);
  bool movesDown(unsigned earlier, unsigned later);
  bool haveSpace(ArrayRef<unsigned> ops);
  FusionGroup toGroup(const Node &node);

  Block &block;
  std::vector<Operation *> ops;
  DenseMap<Operation *, unsigned> positions;
  DenseMap<Operation *, unsigned> owner; // of fusible ops
  FormedOps forms;
  DenseMap<Operation *, Operation *> inTheWay; // the user of an op that was found in the way last
  std::vector<Node> nodes;
};

} // namespace

// True if nothing needs the earlier node's results before the later node. If all updates read one scalar, this is asked
// once for each of them, so the user that was in the way is remembered.
bool FusionGrouper::movesDown(unsigned earlier, unsigned later) {
  unsigned back = nodes[later].position;
  auto isInTheWay = [&](Operation *user) {
    return !contains(earlier, user) && !contains(later, user) && positionOf(user) <= back;
  };
  for (unsigned position : nodes[earlier].ops) {
    Operation *&last = inTheWay[ops[position]];
    if (last && isInTheWay(last))
      return false;
    for (Operation *user : ops[position]->getUsers())
      if (Operation *inBlock = block.findAncestorOpInBlock(*user); inBlock && isInTheWay(inBlock)) {
        last = inBlock;
        return false;
      }
  }
  return true;
}

// Returns the position at which the union can be; none if there is none.
std::optional<unsigned> FusionGrouper::positionFor(unsigned earlier, unsigned later) {
  unsigned front = nodes[earlier].position, back = nodes[later].position;
  if (movesDown(earlier, later))
    return back;
  bool movesUp = true;
  for (unsigned position : nodes[later].ops)
    for (Value operand : ops[position]->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
        movesUp &= contains(earlier, producer) || contains(later, producer) || positionOf(producer) < front;
  return movesUp ? std::optional(front) : std::nullopt;
}

FusionGroup FusionGrouper::toGroup(const Node &node) {
  FusionGroup group;
  for (unsigned position : node.ops)
    group.ops.push_back(ops[position]);
  group.insertionPoint = ops[node.position];
  group.block = node.block;
  return group;
}

// True if code can be generated for the union: its ops have one iteration space.
bool FusionGrouper::haveSpace(ArrayRef<unsigned> members) {
  FusionGroup group;
  for (unsigned position : members)
    group.ops.push_back(ops[position]);
  return forms.haveSpace(group.ops, groupOutputs(group));
}

// Merges a into b and returns true, or leaves both as they are. Cheap rules come first, because most pairs fail them.
bool FusionGrouper::tryMerge(unsigned a, unsigned b) {
  if (nodes[a].position > nodes[b].position)
    std::swap(a, b);
  if (nodes[a].ops.size() + nodes[b].ops.size() > kMaxGroupedOps)
    return false;
  // Blocks stay apart, with or without recomputation, so that recomputation repeats exactly the kernels that ran
  // before.
  std::optional<int64_t> blockOfA = nodes[a].block, blockOfB = nodes[b].block;
  if (blockOfA && blockOfB && *blockOfA != *blockOfB)
    return false;
  // Values that all ranks compute must not wait for values that only owners have.
  if (nodes[a].isOwned != nodes[b].isOwned)
    return false;
  std::optional<unsigned> joint = positionFor(a, b);
  if (!joint)
    return false;
  SmallVector<unsigned> members;
  std::merge(nodes[a].ops.begin(), nodes[a].ops.end(), nodes[b].ops.begin(), nodes[b].ops.end(),
             std::back_inserter(members));
  if (!haveSpace(members))
    return false;
  for (unsigned position : nodes[a].ops)
    owner[ops[position]] = b;
  nodes[a].ops.clear();
  nodes[b] = {std::move(members), *joint, blockOfA ? blockOfA : blockOfB, nodes[b].isOwned};
  return true;
}

// Merges until no producer can be merged. Each producer that is merged brings its own inputs.
void FusionGrouper::mergeProducers(unsigned node) {
  bool changed = true;
  while (changed) {
    changed = false;
    FusionGroup group = toGroup(nodes[node]);
    for (Value input : groupInputs(group)) {
      Operation *producer = input.getDefiningOp();
      if (!producer || !owner.contains(producer) || nodeOf(producer) == node)
        continue;
      Operation *member = group.ops.front();
      changed |= tryMerge(nodeOf(producer), node);
      node = nodeOf(member);
    }
  }
}

// Tries neighbours in the list of a value's readers: such groups could read the bytes in one pass.
void FusionGrouper::mergeSiblings() {
  auto tryReaders = [&](Value value) {
    SmallVector<unsigned> readers;
    for (Operation *user : value.getUsers())
      if (owner.contains(user))
        readers.push_back(positions.lookup(user));
    llvm::sort(readers);
    for (size_t i = 1; i < readers.size(); ++i) {
      unsigned first = nodeOf(ops[readers[i - 1]]), second = nodeOf(ops[readers[i]]);
      if (first != second)
        tryMerge(first, second);
    }
  };
  for (Value argument : block.getArguments())
    tryReaders(argument);
  for (Operation *op : ops)
    for (Value result : op->getResults())
      tryReaders(result);
}

// Erases the ops. A group whose insertion point is erased is placed at the next op that stays.
static void eraseUnneeded(std::vector<FusionGroup> &groups, ArrayRef<Operation *> unneeded) {
  DenseSet<Operation *> erased(unneeded.begin(), unneeded.end());
  llvm::erase_if(groups, [](const FusionGroup &group) { return group.ops.empty(); });
  for (FusionGroup &group : groups)
    while (erased.contains(group.insertionPoint))
      group.insertionPoint = group.insertionPoint->getNextNode();
  for (Operation *op : unneeded)
    op->erase();
}

std::vector<FusionGroup> FusionGrouper::run() {
  DenseSet<Operation *> owned = findOwnedOps(block);
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation *op : ops) {
    if (!isFusible(op))
      continue;
    forms.add(op);
    owner[op] = nodes.size();
    nodes.push_back({{positions.lookup(op)}, positions.lookup(op), getBlockMark(op), owned.contains(op)});
    mergeProducers(nodes.size() - 1);
  }
  mergeSiblings();
  llvm::erase_if(nodes, [](const Node &node) { return node.ops.empty(); });
  llvm::sort(nodes, [](const Node &a, const Node &b) { return a.position < b.position; });
  std::vector<FusionGroup> groups;
  for (const Node &node : nodes)
    groups.push_back(toGroup(node));
  eraseUnneeded(groups, repeatValues(groups, forms));
  return groups;
}

std::vector<FusionGroup> cleave::groupOps(Block &block) { return FusionGrouper(block).run(); }
