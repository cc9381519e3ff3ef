#include "dialects/Cleave/Transforms/Passes.h"

namespace cleave {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;

namespace {
struct DecomposeComposites : impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override {
    // A decomposition may itself contain composites: repeat until a walk finds none.
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
        SmallVector<mlir::Value> values = op.decompose(builder, op->getOperands());
        if (values.size() != op->getNumResults()) {
          op.emitOpError("says that it is composite but has no decomposition");
          return signalPassFailure();
        }
        op->replaceAllUsesWith(values);
        op->erase();
      }
    }
  }
};
} // namespace
