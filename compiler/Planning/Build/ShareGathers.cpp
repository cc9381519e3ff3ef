#include "compiler/Planning/Build/GatherEquality.h"
#include "compiler/Planning/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
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
      auto same = llvm::find_if(kept, [&](shard::AllGatherOp other) {
        return gathersSame(other, gather, [&](ReadOp a, ReadOp b) { return seesSame(a, b); });
      });
      if (same == kept.end()) {
        kept.push_back(gather);
        continue;
      }
      gather.getResult().replaceAllUsesWith(same->getResult());
      eraseWithMakers(gather);
    }
  }

private:
  // A read sees what the last write before it has left. So reads are numbered by the writes of their state before them.
  void numberWrites() {
    llvm::StringMap<unsigned> writes;
    for (Operation &op : block) {
      if (auto write = dyn_cast<WriteOp>(op))
        ++writes[write.getState()];
      if (auto read = dyn_cast<ReadOp>(op))
        generation[read] = writes.lookup(read.getState());
    }
  }

  bool seesSame(ReadOp a, ReadOp b) const {
    return a.getState() == b.getState() && generation.lookup(a) == generation.lookup(b);
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
