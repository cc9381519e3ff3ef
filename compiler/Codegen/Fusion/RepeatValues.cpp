#include "compiler/Codegen/Fusion/RepeatValues.h"

#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;

// The most ops that are computed again for one value.
static constexpr size_t kMaxRepeatedOps = 12;
// Values of fewer bytes are stored as they are: they save less than the code of another kernel costs.
static constexpr int64_t kFewBytes = 1 << 14;

using Values = llvm::SetVector<Value>;

namespace {

// The ops by which a reader computes the value again, in the order of their group, and the values that they read.
struct Frontier {
  SmallVector<Operation *> ops;
  Values values;
};

class Repeater {
public:
  Repeater(std::vector<FusionGroup> &groups, const FormedOps &forms) : groups(groups), forms(forms) {
    for (auto [number, group] : llvm::enumerate(groups))
      for (Operation *op : group.ops)
        groupOf[op] = number;
  }

  // Visits the last groups first. The values that they then read instead are outputs of an earlier group, and may be
  // repeated in turn.
  SmallVector<Operation *> run() {
    for (unsigned maker = groups.size(); maker-- > 0;) {
      SmallVector<Value> outputs = groupOutputs(groups[maker]);
      for (Value output : llvm::reverse(outputs))
        if (std::optional<SmallVector<unsigned>> readers = readersOf(output, maker))
          if (std::optional<Frontier> frontier = cheapest(output, maker, *readers))
            if (canBeKernels(output, *frontier, maker, *readers))
              repeat(output, *frontier, maker, *readers);
    }
    return std::move(unneeded);
  }

private:
  std::optional<SmallVector<unsigned>> readersOf(Value output, unsigned maker) const;
  std::optional<Frontier> cheapest(Value output, unsigned maker, ArrayRef<unsigned> readers) const;
  SmallVector<Operation *> withoutDead(Value output, ArrayRef<Operation *> repeated, unsigned maker) const;
  bool canBeKernels(Value output, const Frontier &frontier, unsigned maker, ArrayRef<unsigned> readers) const;
  bool haveSpace(ArrayRef<Operation *> ops, ArrayRef<Value> outputs) const;
  void repeat(Value output, const Frontier &frontier, unsigned maker, ArrayRef<unsigned> readers);

  std::vector<FusionGroup> &groups;
  const FormedOps &forms;
  DenseMap<Operation *, unsigned> groupOf;
  DenseMap<Operation *, Operation *> originals; // of copies
  SmallVector<Operation *> unneeded;
};

int64_t bytesOf(const Values &values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += byteSize(value.getType());
  return bytes;
}

// True if the maker's kernel computes with exactly the numbers that it stores. A kernel keeps results of narrow types
// in f32 (ElementEmitter.h), and only a cast rounds.
bool isStoredAsComputed(Value value) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
  return !type || type.getWidth() >= 32 || isa<CastOp>(value.getDefiningOp());
}

bool isRepeatable(Operation *op) { return op->getNumResults() == 1 && cast<ComputeOpInterface>(op).isReproducible(); }

} // namespace

// Returns the other groups that read the value; none if an op outside of all groups reads it, because it is then needed
// in memory.
std::optional<SmallVector<unsigned>> Repeater::readersOf(Value output, unsigned maker) const {
  llvm::SetVector<unsigned> readers;
  for (Operation *user : output.getUsers()) {
    auto group = groupOf.find(user);
    if (group == groupOf.end())
      return std::nullopt;
    if (group->second != maker)
      readers.insert(group->second);
  }
  return readers.takeVector();
}

std::optional<Frontier> Repeater::cheapest(Value output, unsigned maker, ArrayRef<unsigned> readers) const {
  if (byteSize(output.getType()) < kFewBytes)
    return std::nullopt;
  SmallVector<Value> stored = groupOutputs(groups[maker]);
  llvm::SmallPtrSet<Operation *, 16> members(groups[maker].ops.begin(), groups[maker].ops.end());
  auto isMade = [&](Value value) { return value.getDefiningOp() && members.contains(value.getDefiningOp()); };
  auto isStored = [&](Value value) { return value != output && (!isMade(value) || llvm::is_contained(stored, value)); };
  auto isExact = [&](Value value) { return !isMade(value) || isStoredAsComputed(value); };
  SmallVector<Values> inputs;
  for (unsigned reader : readers) {
    SmallVector<Value> of = groupInputs(groups[reader]);
    inputs.emplace_back(of.begin(), of.end());
  }
  auto traffic = [&](const Values &values) {
    int64_t bytes = 0;
    for (Value value : values) {
      bytes += isStored(value) ? 0 : byteSize(value.getType());
      for (const Values &ofReader : inputs)
        bytes += value != output && ofReader.contains(value) ? 0 : byteSize(value.getType());
    }
    return bytes;
  };
  Frontier frontier;
  frontier.values.insert(output);
  std::optional<Frontier> best;
  int64_t least = traffic(frontier.values), most = bytesOf(frontier.values);
  for (Operation *op : llvm::reverse(groups[maker].ops)) {
    if (op->getNumResults() != 1 || !frontier.values.contains(op->getResult(0)) ||
        (isStored(op->getResult(0)) && isExact(op->getResult(0))) || !isRepeatable(op))
      continue;
    if (frontier.ops.size() == kMaxRepeatedOps)
      break;
    frontier.values.remove(op->getResult(0));
    frontier.values.insert(op->operand_begin(), op->operand_end());
    frontier.ops.insert(frontier.ops.begin(), op);
    if (traffic(frontier.values) < least && bytesOf(frontier.values) <= most &&
        llvm::all_of(frontier.values, isExact)) {
      least = traffic(frontier.values);
      best = frontier;
    }
  }
  return best;
}

// Returns the maker's ops that it still needs after the readers compute the value themselves.
SmallVector<Operation *> Repeater::withoutDead(Value output, ArrayRef<Operation *> repeated, unsigned maker) const {
  llvm::SmallPtrSet<Operation *, 16> dead;
  for (Operation *op : llvm::reverse(repeated))
    if (llvm::all_of(op->getUsers(), [&](Operation *user) {
          return dead.contains(user) || (op == output.getDefiningOp() && groupOf.lookup(user) != maker);
        }))
      dead.insert(op);
  SmallVector<Operation *> rest;
  llvm::copy_if(groups[maker].ops, std::back_inserter(rest), [&](Operation *op) { return !dead.contains(op); });
  return rest;
}

// A copy has its original's form, and the forms of its readers use that form.
bool Repeater::haveSpace(ArrayRef<Operation *> ops, ArrayRef<Value> outputs) const {
  llvm::SetVector<Operation *> formed;
  for (Operation *op : ops)
    formed.insert(originals.lookup_or(op, op));
  SmallVector<Value> results;
  for (Value output : outputs) {
    auto result = cast<OpResult>(output);
    results.push_back(originals.lookup_or(result.getOwner(), result.getOwner())->getResult(result.getResultNumber()));
  }
  return forms.haveSpace(formed.getArrayRef(), results);
}

// True if the readers with the repeated ops are still kernels, and so is the maker, which may have other outputs.
bool Repeater::canBeKernels(Value output, const Frontier &frontier, unsigned maker, ArrayRef<unsigned> readers) const {
  for (unsigned reader : readers) {
    SmallVector<Operation *> together(frontier.ops);
    llvm::append_range(together, groups[reader].ops);
    if (together.size() > kMaxGroupedOps || !haveSpace(together, groupOutputs(groups[reader])))
      return false;
  }
  SmallVector<Operation *> rest = withoutDead(output, frontier.ops, maker);
  llvm::SetVector<Value> outputs;
  for (Value value : groupOutputs(groups[maker]))
    if (value != output)
      outputs.insert(value);
  for (Value value : frontier.values)
    if (Operation *op = value.getDefiningOp(); op && llvm::is_contained(rest, op))
      outputs.insert(value);
  return rest.empty() || haveSpace(rest, outputs.getArrayRef());
}

void Repeater::repeat(Value output, const Frontier &frontier, unsigned maker, ArrayRef<unsigned> readers) {
  SmallVector<Operation *> rest = withoutDead(output, frontier.ops, maker);
  for (unsigned reader : readers) {
    FusionGroup &group = groups[reader];
    OpBuilder builder(group.ops.front());
    IRMapping mapping;
    SmallVector<Operation *> ops;
    for (Operation *op : frontier.ops) {
      Operation *copy = builder.clone(*op, mapping);
      copy->setLoc(group.ops.front()->getLoc());
      setBlockMark(copy, group.block);
      ops.push_back(copy);
      groupOf[copy] = reader;
      originals[copy] = originals.lookup_or(op, op);
    }
    output.replaceUsesWithIf(mapping.lookup(output),
                             [&](OpOperand &use) { return groupOf.lookup_or(use.getOwner(), -1) == reader; });
    llvm::append_range(ops, group.ops);
    group.ops = std::move(ops);
  }
  for (Operation *op : groups[maker].ops)
    if (!llvm::is_contained(rest, op)) {
      op->dropAllReferences();
      unneeded.push_back(op);
    }
  groups[maker].ops = std::move(rest);
}

SmallVector<Operation *> cleave::repeatValues(std::vector<FusionGroup> &groups, const FormedOps &forms) {
  return Repeater(groups, forms).run();
}
