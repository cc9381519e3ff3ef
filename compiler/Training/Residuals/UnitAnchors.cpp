#include "compiler/Training/Residuals/UnitAnchors.h"

#include "compiler/Training/Buckets/ParameterUses.h"
#include "compiler/Training/Buckets/Units.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/BlockMarks.h"

using namespace mlir;

namespace cleave {

namespace {

class AnchorFinder {
public:
  explicit AnchorFinder(const JointFunction &joint) : joint(joint) {
    for (auto state : joint.function->getParentOfType<ModuleOp>().getOps<StateOp>())
      if (auto unit = state->getAttrOfType<IntegerAttr>(kUnitAttr); unit && unit.getInt() != kResidentUnit)
        gathered[state.getSymName()] = byteSize(state.getTensorType());
  }

  llvm::DenseSet<Value> find() {
    if (gathered.empty())
      return {};
    Block &body = joint.function.getBody().front();
    // The blocks of all ops are found first, because leavesBlock() asks for those of users, which come later.
    for (Operation &op : body)
      if (!joint.backward.contains(&op)) {
        ofStates.add(&op);
        blocks[&op] = blockOf(op);
      }
    for (Operation &op : body.without_terminator())
      if (!joint.backward.contains(&op))
        visit(op);
    return std::move(anchors);
  }

private:
  // An op without a mark belongs to the block of its operands: a pass may have built it anew.
  int64_t blockOf(Operation &op) const {
    if (std::optional<int64_t> mark = getBlockMark(&op))
      return *mark;
    int64_t block = -1;
    for (Value operand : op.getOperands())
      if (!ofStates.contains(operand))
        block = std::max(block, blocks.lookup_or(operand.getDefiningOp(), -1));
    return block;
  }

  // The units that are read if a value is computed again: the last one, and the bytes of all since an anchor.
  struct Need {
    StringRef unit;
    int64_t bytes = 0;

    // The sum is an estimate. If both have the same last unit, they are assumed to have read the same units before it.
    // Otherwise they are assumed to have read different ones. For example, units have 3 kB, and x2 = x1 + b1, where the
    // chain of x1 has read u0 alone. b1 is {u1, 3} and x1 is {u0, 3}, so x2 is {u1, 6}. If the next op reads another
    // parameter of u1, its result is still {u1, 6}.
    void join(const Need &other) {
      if (unit == other.unit || other.bytes == 0) {
        bytes = std::max(bytes, other.bytes);
      } else {
        unit = unit.empty() ? other.unit : unit;
        bytes += other.bytes;
      }
    }
  };

  void visit(Operation &op) {
    Need need;
    if (auto read = dyn_cast<ReadOp>(op)) {
      if (auto unit = gathered.find(read.getState()); unit != gathered.end())
        need = {unit->first(), unit->second};
    } else if (auto compute = dyn_cast<ComputeOpInterface>(op); compute && compute.isReproducible()) {
      // Parameters come first: the unit that is read here is the last one.
      for (bool wanted : {true, false})
        for (Value operand : op.getOperands())
          if (ofStates.contains(operand) == wanted)
            need.join(needs.lookup(operand));
    }
    if (need.bytes == 0)
      return;
    for (Value result : op.getResults())
      if (!ofStates.contains(result) && byteSize(result.getType()) <= need.bytes && leavesBlock(result))
        // An anchor has no need of its own: it is kept, so that a chain begins anew with it.
        anchors.insert(result);
      else
        needs[result] = need;
  }

  // Only uses in the forward pass count: chains go from block to block there.
  bool leavesBlock(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !joint.backward.contains(user) && !isa<WriteOp>(user) && !user->hasTrait<OpTrait::IsTerminator>() &&
             blocks.lookup(user) != blocks.lookup(value.getDefiningOp());
    });
  }

  const JointFunction &joint;
  llvm::StringMap<int64_t> gathered; // states of gathered units, with their bytes
  StateValues ofStates;
  llvm::DenseMap<Operation *, int64_t> blocks;
  llvm::DenseMap<Value, Need> needs; // of values that may be computed again
  llvm::DenseSet<Value> anchors;
};

} // namespace

llvm::DenseSet<Value> findUnitAnchors(const JointFunction &joint) { return AnchorFinder(joint).find(); }

} // namespace cleave
