// Part of ValueRun: collectives and transfers. A run stops with the contribution of this kind until all kinds have
// stopped there.
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Verify/Model/ValueRun.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave::plan {

// The ring cuts the data into equal parts, so planning pads them with zeros.
Content ValueRun::padded(Value value, uint64_t ranks) const {
  Content content = const_cast<ValueRun *>(this)->of(value);
  auto type = cast<RankedTensorType>(value.getType());
  uint64_t width = elementBytes(type.getElementType());
  uint64_t count = llvm::alignTo(std::max<int64_t>(type.getNumElements(), 1), ranks);
  if (count * width > content.bytes())
    content.append(Content::repeated(0, width, count * width - content.bytes()));
  return content;
}

// Fills in the facts that all collectives have. Runs the collective if no other kind is needed, and returns true if one
// is.
bool ValueRun::start(Operation *op, rt::Opcode opcode, ArrayRef<int16_t> axes, int64_t count) {
  CollectiveFacts &facts = stop.facts;
  facts.opcode = opcode;
  facts.group = axesOf(axes);
  facts.count = count;
  facts.dtype = static_cast<int64_t>(dtypeNumber(getElementTypeOrSelf(op->getResult(0).getType())));
  KindBox mine = box();
  bool isWithin = true;
  for (size_t axis = 0; axis < mine.ranges.size(); ++axis)
    if (facts.group.axes >> axis & 1)
      isWithin = isWithin && mine.ranges[axis] == std::pair<uint64_t, uint64_t>(0, mesh.getSizes()[axis]);
  if (!isWithin) {
    stop.mine.where = mine.textOn(facts.group.axes);
    return true;
  }
  finishCollective(op, resultOf(facts, {stop.mine}, 0));
  return false;
}

void ValueRun::finishCollective(Operation *op, const std::optional<Content> &result) {
  Value value = op->getResult(0);
  if (result)
    leave(*result);
  set(value, result ? result->slice(0, bytesOf(value.getType())) : Content::of(kNoValue, bytesOf(value.getType())));
}

void ValueRun::setRoot(Operation *op, ArrayRef<int16_t> axes, ArrayRef<int64_t> root) {
  llvm::SmallVector<StringRef> names;
  for (auto [axis, coordinate] : llvm::zip(axes, root)) {
    names.push_back(mesh.getNames()[axis].getValue());
    stop.facts.root = stop.facts.root * mesh.getSizes()[axis] + coordinate;
  }
  stop.mine.isRoot = plan.getKind().isAt(names, root).value_or(true);
}

// Starts a message along an axis, from or to the only coordinate of this kind.
bool ValueRun::transfer(Operation *op, rt::Opcode opcode, ArrayRef<int16_t> axes,
                        std::optional<ArrayRef<int64_t>> peer) {
  auto channel = op->getAttrOfType<IntegerAttr>(kChannelAttr);
  if (axes.size() != 1 || !peer || peer->size() != 1 || !channel) {
    fail(op, "expected one axis, the peer's coordinate on it, and cleave.channel");
    return false;
  }
  stop.facts.opcode = opcode;
  stop.transfer.axis = axesOf(axes);
  int64_t size = mesh.getSizes()[axes.front()], mine = plan.getKind().getRange(mesh.getNames()[axes.front()]).first;
  int64_t offset = opcode == rt::Opcode::Send ? peer->front() - mine : mine - peer->front();
  stop.transfer.offset = (offset + size) % size;
  stop.transfer.channel = channel.getInt();
  if (opcode == rt::Opcode::Send)
    stop.mine.data = of(op->getOperand(0));
  return true;
}

template <typename Op> bool ValueRun::reduce(Op op, rt::Opcode opcode) {
  stop.facts.reduction = op.getReduction() == shard::ReductionKind::Max   ? int64_t(Reduction::Max)
                         : op.getReduction() == shard::ReductionKind::Min ? int64_t(Reduction::Min)
                                                                          : int64_t(Reduction::Sum);
  auto type = cast<RankedTensorType>(op.getInput().getType());
  stop.mine.data = padded(op.getInput(), axesOf(op.getGridAxes()).ranks);
  return start(op, opcode, op.getGridAxes(), stop.mine.data->bytes() / elementBytes(type.getElementType()));
}

bool ValueRun::startCollective(Operation *op) {
  stop = {};
  auto passes = [&](auto collective) { // on one rank, a collective returns its operand
    if (axesOf(collective.getGridAxes()).ranks != 1)
      return false;
    set(op->getResult(0), of(collective.getInput()));
    return true;
  };
  auto elements = [](Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](shard::AllReduceOp all) { return !passes(all) && reduce(all, rt::Opcode::AllReduce); })
      .Case([&](shard::ReduceScatterOp scatter) {
        return !passes(scatter) && reduce(scatter, rt::Opcode::ReduceScatter);
      })
      .Case([&](shard::AllGatherOp gather) {
        if (passes(gather))
          return false;
        stop.mine.data = of(gather.getInput());
        return start(op, rt::Opcode::AllGather, gather.getGridAxes(), elements(gather.getResult()));
      })
      .Case([&](shard::AllSliceOp slice) {
        AxesFacts group = axesOf(slice.getGridAxes());
        if (!passes(slice))
          set(slice.getResult(),
              of(slice.getInput())
                  .shareOf(group.number(), group.axes, group.ranks, bytesOf(slice.getResult().getType())));
        return false;
      })
      .Case([&](shard::ReduceOp root) {
        if (passes(root))
          return false;
        setRoot(op, root.getGridAxes(), root.getRoot());
        return reduce(root, rt::Opcode::Reduce);
      })
      .Case([&](shard::BroadcastOp root) {
        AxesFacts group = axesOf(root.getGridAxes());
        if (passes(root))
          return false;
        setRoot(op, root.getGridAxes(), root.getRoot());
        Content data = padded(root.getInput(), group.ranks);
        if (stop.mine.isRoot)
          stop.mine.data = data;
        uint64_t count = llvm::alignTo(std::max<int64_t>(elements(root.getResult()), 1), group.ranks);
        return start(op, rt::Opcode::Broadcast, root.getGridAxes(), count);
      })
      .Case(
          [&](shard::SendOp send) { return transfer(op, rt::Opcode::Send, send.getGridAxes(), send.getDestination()); })
      .Case([&](shard::RecvOp receive) {
        return transfer(op, rt::Opcode::Recv, receive.getGridAxes(), receive.getSource());
      })
      .Default([&](Operation *other) {
        fail(other, "no collective that plans know");
        return false;
      });
}

} // namespace cleave::plan
