#include "compiler/Planning/Build/GatherEquality.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cleave::plan {

static bool isSameValue(Value a, Value b, SameRead sameRead) {
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  if (auto read = dyn_cast<ReadOp>(x), other = dyn_cast<ReadOp>(y); read || other)
    return read && other && sameRead(read, other);
  if (isa<shard::ShardDialect>(x->getDialect()) || !isMemoryEffectFree(x) || !isMemoryEffectFree(y))
    return false;
  if (auto kernel = dyn_cast<cleave::KernelOp>(x), other = dyn_cast<cleave::KernelOp>(y); kernel && other)
    return kernel.getLabel() && kernel.getLabel() == other.getLabel() && x->getNumOperands() == y->getNumOperands() &&
           llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                        [&](auto pair) { return isSameValue(std::get<0>(pair), std::get<1>(pair), sameRead); });
  auto sameOperands = [&](Value left, Value right) { return success(isSameValue(left, right, sameRead)); };
  return OperationEquivalence::isEquivalentTo(x, y, sameOperands, nullptr, OperationEquivalence::IgnoreLocations);
}

bool gathersSame(shard::AllGatherOp a, shard::AllGatherOp b, SameRead sameRead) {
  return a.getGrid() == b.getGrid() && a.getGridAxes() == b.getGridAxes() && a.getGatherAxis() == b.getGatherAxis() &&
         a.getType() == b.getType() && isSameValue(a.getInput(), b.getInput(), sameRead);
}

void eraseWithMakers(Operation *gather) {
  llvm::SmallVector<Value> operands(gather->getOperands());
  gather->erase();
  for (Value operand : operands)
    if (Operation *maker = operand.getDefiningOp(); maker && isOpTriviallyDead(maker))
      eraseWithMakers(maker);
}

} // namespace cleave::plan
