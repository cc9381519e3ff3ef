#include "dialects/Cleave/IR/BlockMarks.h"
#include "dialects/Cleave/Transforms/Passes.h"

namespace cleave {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;

namespace {
struct DecomposeComposites : impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override {
    // A decomposition may itself contain composites, so the walk is repeated until it finds none.
    while (true) {
      SmallVector<ComputeOpInterface> composites;
      getOperation().walk([&](ComputeOpInterface op) {
        if (op.getComputeKind() == ComputeKind::Composite)
          composites.push_back(op);
      });
      if (composites.empty())
        return;
      for (ComputeOpInterface op : composites) {
        mlir::OpBuilder builder(op);
        mlir::Operation *before = op->getPrevNode();
        SmallVector<mlir::Value> values = op.decompose(builder, op->getOperands());
        if (values.size() != op->getNumResults()) {
          op.emitOpError("says that it is composite but has no decomposition");
          return signalPassFailure();
        }
        // The parts belong to the block of the whole op.
        for (mlir::Operation *part = before ? before->getNextNode() : &op->getBlock()->front(); part != op;
             part = part->getNextNode())
          setBlockMark(part, getBlockMark(op));
        op->replaceAllUsesWith(values);
        op->erase();
      }
    }
  }
};
} // namespace
