#include "compiler/Codegen/Fusion/RecomputeInputs.h"

#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;

// Ops that are made again for one value, constants apart; more are not worth it.
static constexpr size_t kMostOps = 16;

namespace {

// The ops of a group that make a value, and the values that they read.
struct Chain {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> leaves;
};

class InputRecomputer {
public:
  InputRecomputer(std::vector<FusionGroup> &groups, const FormedOps &forms);
  void run();

private:
  static constexpr size_t kNone = ~size_t(0);
  size_t groupOf(Operation *op) const {
    auto found = owner.find(op);
    return found == owner.end() ? kNone : found->second;
  }
  Operation *originOf(Operation *op) const {
    Operation *origin = origins.lookup(op);
    return origin ? origin : op;
  }
  bool collect(Value value, size_t group, Chain &chain) const;
  std::optional<llvm::SetVector<size_t>> readersOf(Value value, size_t maker) const;
  bool isCheaper(const Chain &chain, Value value, size_t reader) const;
  bool fits(const Chain &chain, size_t reader) const;
  void copy(const Chain &chain, Value value, size_t reader);
  void removeUnused(const Chain &chain, size_t maker);
  void tryValue(Value value, size_t maker);

  std::vector<FusionGroup> &groups;
  const FormedOps &forms;
  DenseMap<Operation *, size_t> owner;
  std::vector<DenseSet<Operation *>> formed; // of each group, ops that have forms: in place of copies, their originals
  DenseMap<Operation *, unsigned> positions; // of those
  DenseMap<Operation *, Operation *> origins;
  SmallVector<Operation *> unused;
};

} // namespace

static bool isConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

static void sortOps(SmallVectorImpl<Operation *> &ops) {
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

InputRecomputer::InputRecomputer(std::vector<FusionGroup> &groups, const FormedOps &forms)
    : groups(groups), forms(forms), formed(groups.size()) {
  for (auto [number, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops) {
      owner[op] = number;
      formed[number].insert(op);
    }
  if (groups.empty())
    return;
  for (auto [position, op] : llvm::enumerate(*groups.front().place->getBlock()))
    positions[&op] = position;
}

// Whether the value can be made again: by few ops of its group, whose copies have the same bits. They begin at what the
// group reads, or stores for others.
bool InputRecomputer::collect(Value value, size_t group, Chain &chain) const {
  Operation *op = value.getDefiningOp();
  bool isInside = op && groupOf(op) == group;
  bool isStored = isInside && !isConstant(op) && !chain.ops.empty() &&
                  llvm::any_of(value.getUsers(), [&](Operation *user) { return groupOf(user) != group; });
  if (!isInside || isStored) {
    chain.leaves.insert(value);
    return true;
  }
  if (!chain.ops.insert(op))
    return true;
  if (op->getNumResults() != 1 || !cast<ComputeOpInterface>(op).isReproducible() ||
      llvm::count_if(chain.ops, [](Operation *one) { return !isConstant(one); }) > static_cast<long>(kMostOps))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, group, chain); });
}

// The other groups that read the value; nothing where something else reads it.
std::optional<llvm::SetVector<size_t>> InputRecomputer::readersOf(Value value, size_t maker) const {
  llvm::SetVector<size_t> readers;
  for (Operation *user : value.getUsers()) {
    size_t reader = groupOf(user);
    if (reader == kNone || groups[reader].block != groups[maker].block)
      return std::nullopt;
    if (reader != maker)
      readers.insert(reader);
  }
  return readers;
}

// Whether the reader has fewer bytes to read with the chain than with the value, and no result that could be put in the
// value's place: then it would take more memory.
bool InputRecomputer::isCheaper(const Chain &chain, Value value, size_t reader) const {
  SmallVector<Value> outputs = groupOutputs(groups[reader]);
  if (llvm::any_of(outputs, [&](Value output) { return output.getType() == value.getType(); }))
    return false;
  SmallVector<Value> inputs = groupInputs(groups[reader]);
  int64_t bytes = 0;
  for (Value leaf : chain.leaves)
    if (!llvm::is_contained(inputs, leaf))
      bytes += byteSize(leaf.getType());
  return bytes < byteSize(value.getType());
}

// Whether the reader and the chain are one kernel.
bool InputRecomputer::fits(const Chain &chain, size_t reader) const {
  DenseSet<Operation *> all = formed[reader];
  for (Operation *op : chain.ops)
    all.insert(originOf(op));
  SmallVector<Operation *> sorted(all.begin(), all.end());
  llvm::sort(sorted, [&](Operation *a, Operation *b) { return positions.lookup(a) < positions.lookup(b); });
  return forms.haveSpace(sorted, groupOutputs(groups[reader]));
}

void InputRecomputer::copy(const Chain &chain, Value value, size_t reader) {
  FusionGroup &group = groups[reader];
  Operation *first =
      *llvm::find_if(group.ops, [&](Operation *op) { return llvm::is_contained(op->getOperands(), value); });
  OpBuilder builder(first);
  SmallVector<Operation *> ops(chain.ops.begin(), chain.ops.end());
  sortOps(ops);
  IRMapping mapping;
  for (Operation *op : ops) {
    Operation *made = builder.clone(*op, mapping);
    made->setLoc(first->getLoc()); // a copy is its reader's, as in form-kernels
    setBlockMark(made, getBlockMark(first));
    owner[made] = reader;
    origins[made] = originOf(op);
    formed[reader].insert(originOf(op));
    group.ops.push_back(made);
  }
  for (Operation *op : group.ops)
    op->replaceUsesOfWith(value, mapping.lookup(value));
  sortOps(group.ops);
}

// Takes ops that nobody reads any more out of their group. They are erased last: forms are found by their addresses.
void InputRecomputer::removeUnused(const Chain &chain, size_t maker) {
  SmallVector<Operation *> ops(chain.ops.begin(), chain.ops.end());
  sortOps(ops);
  for (Operation *op : llvm::reverse(ops)) {
    if (!op->use_empty())
      continue;
    llvm::erase(groups[maker].ops, op);
    owner.erase(op);
    op->dropAllReferences();
    unused.push_back(op);
  }
}

void InputRecomputer::tryValue(Value value, size_t maker) {
  std::optional<llvm::SetVector<size_t>> readers = readersOf(value, maker);
  Chain chain;
  if (!readers || readers->empty() || !collect(value, maker, chain) ||
      !llvm::all_of(*readers, [&](size_t reader) { return isCheaper(chain, value, reader) && fits(chain, reader); }))
    return;
  for (size_t reader : *readers)
    copy(chain, value, reader);
  removeUnused(chain, maker);
}

// Later values first: they may be made again of earlier ones that are stored.
void InputRecomputer::run() {
  for (size_t maker = 0; maker < groups.size(); ++maker) {
    SmallVector<Value> outputs = groupOutputs(groups[maker]);
    for (Value value : llvm::reverse(outputs))
      tryValue(value, maker);
  }
  for (Operation *op : unused) {
    for (FusionGroup &group : groups)
      if (group.place == op)
        group.place = op->getNextNode();
    op->erase();
  }
  llvm::erase_if(groups, [](const FusionGroup &group) { return group.ops.empty(); });
}

void cleave::recomputeInputs(std::vector<FusionGroup> &groups, const FormedOps &forms) {
  InputRecomputer(groups, forms).run();
}
