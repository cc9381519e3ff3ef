#include "compiler/Planning/InPlace.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave::plan {

// True when `op` reads every operand in `touched` at the index of the results it computes.
static bool readsByIdentity(Operation *op, const llvm::DenseSet<Value> &touched) {
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  if (!loops)
    return false;
  llvm::SmallVector<AffineMap> maps = loops.getIndexingMaps();
  if (maps.size() != op->getNumOperands() + op->getNumResults())
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!touched.contains(operand.get()))
      continue;
    for (unsigned result = 0; result < op->getNumResults(); ++result)
      if (maps[operand.getOperandNumber()] != maps[op->getNumOperands() + result])
        return false;
  }
  return true;
}

bool isElementwiseIn(cleave::KernelOp kernel, unsigned input) {
  Block &body = kernel.getBody().front();
  llvm::DenseSet<Value> touched{body.getArgument(input)};
  for (Operation &op : body.without_terminator()) {
    bool reads = llvm::any_of(op.getOperands(), [&](Value operand) { return touched.contains(operand); });
    if (reads && !readsByIdentity(&op, touched))
      return false;
    if (reads)
      touched.insert(op.result_begin(), op.result_end());
  }
  return true;
}

static WriteOp writeOf(Value result) {
  for (Operation *user : result.getUsers())
    if (auto write = dyn_cast<WriteOp>(user))
      return write;
  return nullptr;
}

bool mayTakeOver(Operation *kernel, Value input, Value result, const ValueFamilies &families) {
  if (input.getType() != result.getType() || families.lastUse(input) != families.position(kernel))
    return false;
  WriteOp write = writeOf(result);
  auto read = input.getDefiningOp<ReadOp>();
  if (write || families.touchesState(input))
    return write && read && write.getState() == read.getState();
  if (auto argument = dyn_cast<BlockArgument>(input)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), "cleave.residual");
  }
  return input.getDefiningOp() && !isa<ConstantOp>(input.getDefiningOp());
}

llvm::SmallVector<int64_t> chooseTies(cleave::KernelOp kernel, const ValueFamilies &families) {
  llvm::SmallVector<int64_t> ties;
  for (Value result : kernel.getResults()) {
    int64_t tie = -1;
    for (unsigned input = 0; input < kernel.getInputs().size() && tie < 0; ++input) {
      Value value = kernel.getInputs()[input];
      bool alone = llvm::count_if(kernel.getInputs(),
                                  [&](Value other) { return other == value || families.related(other, value); }) == 1;
      if (alone && !llvm::is_contained(ties, input) && mayTakeOver(kernel, value, result, families) &&
          isElementwiseIn(kernel, input))
        tie = input;
    }
    ties.push_back(tie);
  }
  return ties;
}

} // namespace cleave::plan
