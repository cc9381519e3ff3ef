#include "compiler/Planning/Build/ValueFamilies.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace cleave::plan {

ReadOp findStateRead(Value value) {
  if (auto slice = value.getDefiningOp<shard::AllSliceOp>())
    value = slice.getInput();
  return value.getDefiningOp<ReadOp>();
}

WriteOp findStateWrite(Value value) {
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
  llvm::StringMap<Value> content; // the value that a state holds at this point, if it is known
  llvm::SmallVector<Value> stateValues;
  auto join = [&](Value a, Value b) { families.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer()); };
  size_t position = 0;
  for (Operation &op : block) {
    positions[&op] = position++;
    for (const ByteView &view : byteViews(&op))
      if (!view.part.getDefiningOp<ConstantOp>()) // a constant is not made in the concat, but copied
        join(view.whole, view.part);
    if (auto slice = dyn_cast<shard::AllSliceOp>(op))
      join(slice.getInput(), slice.getResult());
    if (auto gather = dyn_cast<shard::AllGatherOp>(op); gather && findStateWrite(gather.getResult()))
      join(gather.getInput(), gather.getResult());
    if (auto broadcast = dyn_cast<shard::BroadcastOp>(op))
      join(broadcast.getInput(), broadcast.getResult());
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto [known, isNew] = content.try_emplace(read.getState(), read.getResult());
      if (!isNew)
        join(known->second, read.getResult());
      stateValues.push_back(read.getResult());
      reads[read.getState()].push_back(positions[&op]);
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
      lastOwnUses[operand] = positions[&op];
    }
}

size_t ValueFamilies::lastUse(Value value) const { return lastUses.lookup(leader(value)); }

bool ValueFamilies::isReadBetween(llvm::StringRef state, Operation *op, Operation *end) const {
  auto known = reads.find(state);
  if (known == reads.end())
    return false;
  const auto *next = llvm::upper_bound(known->second, position(op));
  return next != known->second.end() && (!end || *next < position(end));
}

bool ValueFamilies::outlives(Value value, llvm::StringRef state, Operation *op) const {
  auto known = writes.find(state);
  if (known == writes.end())
    return false;
  const auto *next = llvm::upper_bound(known->second, position(op));
  return next != known->second.end() && lastUse(value) > *next;
}

} // namespace cleave::plan
