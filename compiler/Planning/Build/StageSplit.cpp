#include "compiler/Planning/Build/StageSplit.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/RankKinds.h"
#include "dialects/Cleave/IR/Reason.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <algorithm>
#include <tuple>

using namespace mlir;

namespace cleave::plan {

static StringRef gridOf(Operation *op) {
  return (*op->getParentOfType<ModuleOp>().getOps<shard::GridOp>().begin()).getSymName();
}

// The ops that send accept no tensors without dimensions.
static RankedTensorType sentType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 0 ? tensor.clone(ArrayRef<int64_t>{1}) : tensor;
}

static Value asType(OpBuilder &builder, Value value, RankedTensorType type) {
  return value.getType() == type ? value : ReshapeOp::create(builder, value.getLoc(), type, value);
}

static void describe(OpBuilder &builder, Operation *transfer, const Crossed &crossed) {
  transfer->setAttr(kChannelAttr, builder.getI64IntegerAttr(crossed.channel));
  transfer->setAttr(kReasonAttr,
                    makeReason(builder.getContext(), crossed.tensor, "on stage " + std::to_string(crossed.from),
                               "on stage " + std::to_string(crossed.to)));
}

void createSend(OpBuilder &builder, Value value, const StageAxis &axis, const Crossed &crossed) {
  Value sent = asType(builder, value, sentType(value.getType()));
  auto send =
      shard::SendOp::create(builder, value.getLoc(), sent.getType(), gridOf(builder.getInsertionBlock()->getParentOp()),
                            ArrayRef<int16_t>{axis.index}, sent, ArrayRef<int64_t>{crossed.to}, ValueRange());
  describe(builder, send, crossed);
}

Value createReceive(OpBuilder &builder, Location loc, Type type, const StageAxis &axis, const Crossed &crossed) {
  Value nothing = ub::PoisonOp::create(builder, loc, sentType(type));
  auto receive = shard::RecvOp::create(
      builder, loc, nothing.getType(),
      FlatSymbolRefAttr::get(builder.getContext(), gridOf(builder.getInsertionBlock()->getParentOp())),
      builder.getDenseI16ArrayAttr(axis.index), nothing, builder.getDenseI64ArrayAttr(crossed.from), ValueRange());
  describe(builder, receive, crossed);
  return asType(builder, receive.getResult(), cast<RankedTensorType>(type));
}

StageSet StageSplit::whereOf(Value value) const {
  auto maker = numbers.find(value.getDefiningOp());
  return value.getDefiningOp() && maker != numbers.end() ? stagesOf[maker->second] : everywhere();
}

// True if the value is a state's bytes, a part of them, or the whole that ranks make of their parts.
bool StageSplit::isOfState(Value value) const {
  for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (isa<ReadOp>(op))
      return true;
    bool isMoved = isa<shard::ShardDialect>(op->getDialect()) || byteViews(op).size() == 1;
    if (!isMoved || op->getNumOperands() != 1)
      return false;
  }
  return false;
}

StageSet StageSplit::choose(Operation *op) const {
  StageSet all = everywhere(), any(axis.stages);
  Value last; // newest of the operands that not all stages have
  for (Value operand : op->getOperands()) {
    StageSet where = whereOf(operand);
    all &= where;
    if (where.all())
      continue;
    any |= where;
    if (!last || numbers.lookup(last.getDefiningOp()) < numbers.lookup(operand.getDefiningOp()))
      last = operand;
  }
  if (all.any())
    return all;
  constexpr double kOfState = 1000; // a byte of a state counts as this many
  auto cost = [&](unsigned stage) {
    double bytes = 0;
    for (Value operand : op->getOperands())
      if (!whereOf(operand).test(stage)) {
        auto type = cast<RankedTensorType>(operand.getType());
        double size = static_cast<double>(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
        bytes += size * (isOfState(operand) ? kOfState : 1);
      }
    return bytes;
  };
  // A chain goes on at the stage of its newest operand, unless another stage costs less. An earlier stage must cost far
  // less, because later ops of the chain then cross again. Otherwise a sum of layers in f32 would stay on the first
  // stage, and each layer's part of it, in bf16, would be sent back.
  constexpr double kBack = 4;
  int best = whereOf(last).find_first(), newest = best;
  for (int stage : any.set_bits())
    if (cost(stage) * (stage < newest ? kBack : 1) < cost(best) * (best < newest ? kBack : 1))
      best = stage;
  StageSet chosen(axis.stages);
  chosen.set(best);
  return chosen;
}

void StageSplit::walk(const StateStages &states) {
  auto ofState = [&](StringRef name) {
    auto known = states.find(name);
    return known == states.end() ? everywhere() : known->second;
  };
  ops.clear(), numbers.clear(), stagesOf.clear();
  for (Operation &op : function.getBody().front().without_terminator()) {
    StageSet where;
    if (auto read = dyn_cast<ReadOp>(op))
      where = ofState(read.getState());
    else if (auto write = dyn_cast<WriteOp>(op))
      where = ofState(write.getState());
    else
      where = choose(&op);
    numbers[&op] = ops.size();
    ops.push_back(&op);
    stagesOf.push_back(std::move(where));
  }
}

void StageSplit::place(StateStages &states) {
  for (bool found = true; found;) {
    walk(states);
    found = false;
    for (Operation *op : ops)
      if (auto write = dyn_cast<WriteOp>(op); write && !states.contains(write.getState())) {
        StageSet where = whereOf(write.getValue());
        if (where.all())
          continue; // it may depend on a state that the next round finds
        states[write.getState()] = where;
        found = true;
      }
  }
  crossings.clear();
  for (auto [op, where] : llvm::zip_equal(ops, stagesOf))
    require(op, where);
  require(function.getBody().front().getTerminator(), everywhere());
  llvm::sort(crossings, [](const Crossing &a, const Crossing &b) {
    return std::tie(a.op, a.result, a.to) < std::tie(b.op, b.result, b.to);
  });
  auto isSame = [](const Crossing &a, const Crossing &b) {
    return std::tie(a.op, a.result, a.to) == std::tie(b.op, b.result, b.to);
  };
  crossings.erase(std::unique(crossings.begin(), crossings.end(), isSame), crossings.end());
  findOwned();
  for (Crossing &crossing : crossings)
    crossing.tensor = tensorNameOf(ops[crossing.op]->getResult(crossing.result));
}

// Returns the axes that a reduce goes over. Its root is an owner (RankKinds.h).
static ArrayAttr axesOf(shard::ReduceOp reduce) {
  auto mesh = reduce->getParentOfType<ModuleOp>()->getAttrOfType<MeshAttr>(kMeshAttr);
  return ArrayAttr::get(reduce.getContext(), llvm::map_to_vector(reduce.getGridAxes(), [&](int16_t axis) -> Attribute {
                          return mesh.getNames()[axis];
                        }));
}

// Only servers send values that a parameter server has reduced, or computed from reduced ones. An optimizer without
// states has no state with an owner. Then only the reduces tell who owns.
void StageSplit::findOwned() {
  llvm::DenseSet<Operation *> owned = findOwnedOps(function.getBody().front());
  Attribute owners;
  for (auto state : function->getParentOfType<ModuleOp>().getOps<StateOp>())
    if (auto storage = state.getStorage(); storage && storage->isOwned())
      owners = storage->getOwner();
  if (!owners)
    for (auto reduce : function.getBody().front().getOps<shard::ReduceOp>())
      owners = axesOf(reduce);
  for (Crossing &crossing : crossings)
    if (owners && owned.contains(ops[crossing.op]))
      crossing.owners = owners;
}

// Adds the crossings that bring the op's operands to these stages.
void StageSplit::require(Operation *op, const StageSet &stages) {
  for (Value operand : op->getOperands()) {
    StageSet where = whereOf(operand);
    for (unsigned stage : stages.set_bits())
      if (!where.test(stage)) {
        int before = where.find_prev(stage);
        crossings.push_back({numbers.lookup(operand.getDefiningOp()),
                             cast<OpResult>(operand).getResultNumber(),
                             before >= 0 ? before : where.find_first(),
                             static_cast<int64_t>(stage),
                             {},
                             ""});
      }
  }
}

void StageSplit::specialize(func::FuncOp copy, int64_t stage, int64_t channel) const {
  Block &block = copy.getBody().front();
  llvm::SmallVector<Operation *> copies;
  for (Operation &op : block.without_terminator())
    copies.push_back(&op);
  OpBuilder builder(copy.getContext());
  // In reverse order, because each one is inserted directly after its op.
  for (const Crossing &crossing : llvm::reverse(crossings)) {
    Operation *maker = copies[crossing.op];
    builder.setInsertionPointAfter(maker);
    Value value = maker->getResult(crossing.result);
    Crossed crossed{crossing.from, crossing.to, channel, crossing.tensor};
    auto mark = [&] { // marks the transfer that was made last
      Operation *last = &*std::prev(builder.getInsertionPoint());
      for (; !isa<shard::SendOp, shard::RecvOp>(last);)
        last = last->getPrevNode();
      if (crossing.owners)
        last->setAttr(kOwnerAxesAttr, crossing.owners);
    };
    if (crossing.from == stage) {
      createSend(builder, value, axis, crossed);
      mark();
    }
    if (crossing.to == stage) {
      Value received = createReceive(builder, maker->getLoc(), value.getType(), axis, crossed);
      mark();
      value.replaceAllUsesWith(received);
    }
  }
  for (size_t i = copies.size(); i-- > 0;)
    if (!stagesOf[i].test(static_cast<unsigned>(stage)))
      copies[i]->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.getNumResults() > 0 && op.use_empty() && !isa<shard::SendOp, shard::RecvOp>(op))
      op.erase();
}

} // namespace cleave::plan
