#include "compiler/Planning/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_SHAREGATHERS
#include "compiler/Planning/Passes.h.inc"

namespace {

class GatherMerger {
public:
  explicit GatherMerger(Block &block) : block(block) {}

  void run() {
    numberWrites();
    llvm::SmallVector<shard::AllGatherOp> kept;
    for (auto gather : llvm::make_early_inc_range(block.getOps<shard::AllGatherOp>())) {
      auto same = llvm::find_if(kept, [&](shard::AllGatherOp other) { return isSame(other, gather); });
      if (same == kept.end()) {
        kept.push_back(gather);
        continue;
      }
      gather.getResult().replaceAllUsesWith(same->getResult());
      eraseUnused(gather);
    }
  }

private:
  // The gather, and the kernels that made its part.
  static void eraseUnused(Operation *op) {
    llvm::SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      if (Operation *maker = operand.getDefiningOp(); maker && isOpTriviallyDead(maker))
        eraseUnused(maker);
  }

  // A read sees what the last write before it has left: the number of writes of its state so far.
  void numberWrites() {
    llvm::StringMap<unsigned> writes;
    for (Operation &op : block) {
      if (auto write = dyn_cast<WriteOp>(op))
        ++writes[write.getState()];
      if (auto read = dyn_cast<ReadOp>(op))
        generation[read] = writes.lookup(read.getState());
    }
  }

  bool isSame(shard::AllGatherOp a, shard::AllGatherOp b) {
    return a.getGrid() == b.getGrid() && a.getGridAxes() == b.getGridAxes() && a.getGatherAxis() == b.getGatherAxis() &&
           a.getType() == b.getType() && isSameValue(a.getInput(), b.getInput());
  }

  bool isSameValue(Value a, Value b) {
    if (a == b)
      return true;
    Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
    if (!x || !y || cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
      return false;
    if (auto read = dyn_cast<ReadOp>(x), other = dyn_cast<ReadOp>(y); read || other)
      return read && other && read.getState() == other.getState() && generation[read] == generation[other];
    if (isa<shard::ShardDialect>(x->getDialect()) || !isMemoryEffectFree(x) || !isMemoryEffectFree(y))
      return false;
    if (auto kernel = dyn_cast<cleave::KernelOp>(x), other = dyn_cast<cleave::KernelOp>(y); kernel && other)
      return kernel.getLabel() && kernel.getLabel() == other.getLabel() && hasSameInputs(x, y);
    auto sameOperands = [&](Value left, Value right) { return success(isSameValue(left, right)); };
    return OperationEquivalence::isEquivalentTo(x, y, sameOperands, nullptr, OperationEquivalence::IgnoreLocations);
  }

  bool hasSameInputs(Operation *x, Operation *y) {
    return x->getNumOperands() == y->getNumOperands() &&
           llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                        [&](auto pair) { return isSameValue(std::get<0>(pair), std::get<1>(pair)); });
  }

  Block &block;
  llvm::DenseMap<Operation *, unsigned> generation;
};

struct ShareGathers : impl::ShareGathersBase<ShareGathers> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      GatherMerger(getOperation().getBody().front()).run();
  }
};

} // namespace
} // namespace cleave::plan
