#include "compiler/Planning/ByteViews.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace cleave::plan {

static llvm::SmallVector<ByteView> viewOfSlice(SliceOp slice) {
  auto type = cast<RankedTensorType>(slice.getOperand().getType());
  int64_t stride = byteSize(type) / std::max<int64_t>(type.getNumElements(), 1), offset = 0;
  bool whole = true; // the dimensions inside of this one are taken whole
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t size = slice.getSizes()[dim];
    if (size > 1 && (slice.getSteps()[dim] != 1 || !whole))
      return {};
    whole = whole && size == type.getDimSize(dim);
    offset += slice.getStarts()[dim] * stride;
    stride *= type.getDimSize(dim);
  }
  return {{slice.getOperand(), slice.getResult(), static_cast<uint64_t>(offset)}};
}

static llvm::SmallVector<ByteView> viewsOfConcat(ConcatOp concat) {
  auto type = cast<RankedTensorType>(concat.getResult().getType());
  for (int64_t dim = 0; dim < static_cast<int64_t>(concat.getDim()); ++dim)
    if (type.getDimSize(dim) != 1)
      return {};
  llvm::SmallVector<ByteView> views;
  uint64_t offset = 0;
  for (Value operand : concat.getOperands()) {
    views.push_back({concat.getResult(), operand, offset});
    offset += byteSize(operand.getType());
  }
  return views;
}

llvm::SmallVector<ByteView> byteViews(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return {{reshape.getOperand(), reshape.getResult(), 0}};
  if (auto slice = dyn_cast<SliceOp>(op))
    return viewOfSlice(slice);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return viewsOfConcat(concat);
  return {};
}

ReadOp readBehind(Value value) {
  if (auto slice = value.getDefiningOp<shard::AllSliceOp>())
    value = slice.getInput();
  return value.getDefiningOp<ReadOp>();
}

WriteOp writeAhead(Value value) {
  for (Operation *user : value.getUsers()) {
    if (auto write = dyn_cast<WriteOp>(user))
      return write;
    if (isa<shard::AllGatherOp, shard::BroadcastOp>(user))
      for (Operation *next : user->getResult(0).getUsers())
        if (auto write = dyn_cast<WriteOp>(next))
          return write;
  }
  return nullptr;
}

void *ValueFamilies::leader(Value value) const {
  auto found = families.findLeader(value.getAsOpaquePointer());
  return found == families.member_end() ? value.getAsOpaquePointer() : *found;
}

ValueFamilies::ValueFamilies(Block &block) {
  llvm::StringMap<Value> content; // what a state holds at this point, when that is known
  llvm::SmallVector<Value> stateValues;
  auto join = [&](Value a, Value b) { families.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer()); };
  size_t position = 0;
  for (Operation &op : block) {
    positions[&op] = position++;
    for (const ByteView &view : byteViews(&op))
      if (!view.part.getDefiningOp<ConstantOp>()) // a constant is put into a concat, and is not made there
        join(view.whole, view.part);
    if (auto slice = dyn_cast<shard::AllSliceOp>(op))
      join(slice.getInput(), slice.getResult());
    if (auto gather = dyn_cast<shard::AllGatherOp>(op); gather && writeAhead(gather.getResult()))
      join(gather.getInput(), gather.getResult());
    if (auto broadcast = dyn_cast<shard::BroadcastOp>(op))
      join(broadcast.getInput(), broadcast.getResult());
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto [known, isNew] = content.try_emplace(read.getState(), read.getResult());
      if (!isNew)
        join(known->second, read.getResult());
      stateValues.push_back(read.getResult());
    }
    if (auto write = dyn_cast<WriteOp>(op)) {
      content[write.getState()] = write.getValue();
      writes[write.getState()].push_back(positions[&op]);
      stateValues.push_back(write.getValue());
    }
  }
  for (Value value : stateValues)
    stateful[leader(value)] = true;
  for (Operation &op : block)
    for (Value operand : op.getOperands()) {
      size_t &last = lastUses[leader(operand)];
      last = std::max(last, positions[&op]);
    }
}

size_t ValueFamilies::lastUse(Value value) const { return lastUses.lookup(leader(value)); }

bool ValueFamilies::outlives(Value value, llvm::StringRef state, Operation *op) const {
  auto known = writes.find(state);
  if (known == writes.end())
    return false;
  const auto *next = llvm::upper_bound(known->second, position(op));
  return next != known->second.end() && lastUse(value) > *next;
}

} // namespace cleave::plan
